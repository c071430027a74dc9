//! The registry: every sender classifier by name, with its parameters.
//!
//! Scenarios, experiments and the command read [`REGISTRY`]. To add a classifier: its file, its
//! `mod` line, and its entry in the list below.

use super::episode::Episode;
use super::fq_rtt::FqRtt;
use super::gradient::Gradient;
use super::isolated::Isolated;
use super::trees::Trees;
use super::vegas::{Evaluate, RttOf, Vegas, WindowOf};
use super::veno::Veno;
use super::{SenderClassifier, Unaware};
use crate::event::{AckEvent, LossEvent, SentEvent};
use crate::macros::{any, registry};
use crate::registry::{real, switch, whole};
use crate::{Cause, Duration, Time, dispatch};

const ALPHA: &str = "segments of backlog up to which the network is not congested";
const BETA: &str = "segments of backlog from which the network is congested";
const RTT: &str =
    "round-trip time: 0 last sample, 1 smoothed with gain 1/8, 2 lowest of the last round trip";
const AT_LOSSES: &str = "whether it is evaluated at losses, not at each round-trip time";
const FLIGHT: &str = "whether the data in flight counts, not the congestion window";
const TICK: &str = "tick in ms of the clock that measures round trips; 0 is an exact clock";
const CONGESTED: &str = "whether the network counts as congested until a round-trip time is known";
const TIMEOUTS: &str = "whether timeouts are classified; if not, they are congestion";

macro_rules! dispatch_sender {
    ($enum:ident $variants:tt) => {
        dispatch! {
            impl SenderClassifier for $enum $variants
            #[inline] fn on_sent(&mut self, sent: &SentEvent);
            #[inline] fn on_ack(&mut self, ack: &AckEvent);
            fn on_loss(&mut self, loss: &LossEvent) -> Cause;
            fn odds(&self) -> Option<f64>;
            fn revises(&self) -> bool;
            fn on_recovery_end(&mut self, now: Time) -> Cause;
        }
    };
}

any! {
    /// Any sender classifier in the registry.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Classifier by dispatch_sender { Vegas, Veno, Gradient, FqRtt, Isolated, Episode, Trees, Unaware }
}

registry! {
    /// Every sender classifier.
    Classifier {
        "vegas", "Vegas predictor", "congestion while a few of the flow's segments wait in the queue",
        "Martignon & Fratta 2005, section 2",
        (
            alpha = real(Vegas::ALPHA, 0.0, 1000.0, ALPHA),
            beta = real(Vegas::BETA, 0.0, 1000.0, BETA),
            rtt = whole(0, 0, 2, RTT),
            at_losses = switch(false, AT_LOSSES),
            flight = switch(false, FLIGHT),
            congested = switch(true, CONGESTED),
            timeouts = switch(true, TIMEOUTS),
            tick_ms = real(0.0, 0.0, 10_000.0, TICK),
        )
        => Vegas::new(alpha, beta)
            .rtt(rtt_of(rtt))
            .tick(Duration::from_secs_f64(tick_ms / 1e3))
            .evaluate(if at_losses == 0.0 { Evaluate::Samples } else { Evaluate::Losses })
            .window(if flight == 0.0 { WindowOf::Congestion } else { WindowOf::Flight })
            .congested_at_first(congested != 0.0)
            .timeouts(timeouts != 0.0),
        where alpha <= beta;

        "ldea", "LDEA", "the Vegas predictor as used in TCP BaLDE",
        "Le & Hong 2006, section 2",
        (
            alpha = real(Vegas::ALPHA, 0.0, 1000.0, ALPHA),
            beta = real(Vegas::BETA, 0.0, 1000.0, BETA),
            rtt = whole(0, 0, 2, RTT),
            at_losses = switch(false, AT_LOSSES),
            flight = switch(false, FLIGHT),
            congested = switch(false, CONGESTED),
            timeouts = switch(false, TIMEOUTS),
        )
        => Vegas::new(alpha, beta)
            .rtt(rtt_of(rtt))
            .evaluate(if at_losses == 0.0 { Evaluate::Samples } else { Evaluate::Losses })
            .window(if flight == 0.0 { WindowOf::Congestion } else { WindowOf::Flight })
            .congested_at_first(congested != 0.0)
            .timeouts(timeouts != 0.0),
        where alpha <= beta;

        "veno", "Veno", "congestion if a few of the flow's segments wait in the queue when the loss is detected",
        "Fu & Liew, IEEE JSAC 21(2), 2003",
        (
            beta = real(Veno::BETA, 0.0, 1000.0, BETA),
            rtt = whole(2, 0, 2, RTT),
            timeouts = switch(true, TIMEOUTS),
        )
        => Veno::new(beta, rtt_of(rtt)).timeouts(timeouts != 0.0);

        "veno-enhanced", "Enhanced Veno", "Veno that also asks whether congestion losses get more frequent",
        "Zhou & Fu 2006, after ElAarag, Moedinger & Hogg 2008, section 10.2",
        (
            beta = real(Veno::BETA, 0.0, 1000.0, BETA),
            rtt = whole(1, 0, 2, RTT),
            congestive = switch(true, "whether a random loss counts as congestion while those get more frequent"),
            timeouts = switch(false, TIMEOUTS),
        )
        => Veno::enhanced(
            beta,
            rtt_of(rtt),
            Cause::wireless_if(congestive == 0.0),
        )
        .timeouts(timeouts != 0.0);

        "ndg", "NDG", "congestion if a wider window lengthened the delay (CARD)",
        "Jain 1989, after Biaz & Vaidya 1998, from memory",
        (threshold = real(Gradient::NDG, -1000.0, 1000.0, "a gradient above it is congestion"))
        => Gradient::delay(threshold);

        "ntg", "NTG", "congestion if a wider window added little throughput (Tri-S)",
        "Wang & Crowcroft 1991, after Biaz & Vaidya 1998, from memory",
        (threshold = real(Gradient::NTG, -1000.0, 1000.0, "a gradient below it is congestion"))
        => Gradient::throughput(threshold);

        "fqrtt", "fqRTT", "congestion if the round-trip time is near that of a full queue",
        "quicly, issue 687, 2026",
        (
            guard_ms = real(
                5.0, 0.0, 60_000.0, "ms above the lowest round-trip time that always mean congestion"
            ),
            first_variation = real(
                FqRtt::FIRST_VARIATION, 0.0, 1.0, "variation after the first sample, as a share of it"
            ),
        )
        => FqRtt::new(Duration::from_secs_f64(guard_ms / 1e3), first_variation);

        "isolated", "Isolated losses", "congestion if many of the packets around the loss were lost, too",
        "picoquic, pull request 1222, 2021",
        (
            threshold = real(
                Isolated::THRESHOLD, 0.0, 1.0, "the share of lost packets above which a loss is congestion"
            ),
            gain = real(Isolated::GAIN, 0.001, 1.0, "gain of that share"),
        )
        => Isolated::new(threshold, gain);

        "episode", "Short episodes", "congestion unless the loss is repaired within two round trips",
        "quiche, pull request 308, 2019",
        (rounds = real(Episode::ROUNDS, 0.0, 1000.0, "round trips that a short episode stays below"))
        => Episode::new(rounds);

        "trees", "Trees", "forty small decision trees over delay, timing and losses, trained on random networks",
        "this project, docs/evidence/classifier.md",
        (threshold = real(Trees::THRESHOLD, -100.0, 100.0, "log-odds above which a loss is called congestion"))
        => Trees::new(threshold);

        "unaware", "Unaware", "always congestion, like a transport without a classifier",
        "Jacobson, SIGCOMM 1988",
        ()
        => Unaware;
    }
}

impl Classifier {
    /// Returns the classifier that calls every loss congestion.
    pub fn unaware() -> Self {
        Self::Unaware(Unaware)
    }
}

fn rtt_of(rtt: f64) -> RttOf {
    [RttOf::Last, RttOf::Smoothed, RttOf::Round][rtt as usize % 3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constructors_and_the_registry_agree() {
        let named: [(&str, Classifier); 11] = [
            ("vegas", Vegas::predictor().into()),
            ("ldea", Vegas::ldea().into()),
            ("veno", Veno::paper().into()),
            ("veno-enhanced", Veno::iftpv().into()),
            ("ndg", Gradient::ndg().into()),
            ("ntg", Gradient::ntg().into()),
            ("fqrtt", FqRtt::default().into()),
            ("isolated", Isolated::default().into()),
            ("episode", Episode::default().into()),
            ("trees", Trees::default().into()),
            ("unaware", Unaware.into()),
        ];
        for (id, classifier) in named {
            assert_eq!(find(id).unwrap().build(&[]), Ok(classifier), "{id}");
        }
    }
}
