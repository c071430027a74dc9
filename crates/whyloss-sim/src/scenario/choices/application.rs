//! Reads the application of a flow by its name and parameters.

use whyloss::{Duration, Rate};

use super::{Choice, positive};
use crate::host::supply::{Application, Arrivals, SizedTransfers, Stream};
use crate::scenario::error::Fault;
use crate::scenario::fields::Field;

pub(super) const APPLICATIONS: [&str; 4] = ["greedy", "transfers", "video", "voice"];
pub(super) const TRANSFERS: [&str; 3] = ["size", "arrivals", "per_second"];
pub(super) const VIDEO: [&str; 4] = ["fps", "rate", "patience", "playout"];
pub(super) const VOICE: [&str; 3] = ["interval", "patience", "playout"];

/// Reads the application of a flow with packets of `packet` bytes.
pub(in crate::scenario) fn application(
    field: &Field<'_>,
    packet: u32,
) -> Result<Application, Fault> {
    let expected = r#"an application: "greedy", "transfers", "video" or "voice""#;
    let choice = Choice::of(field, "application", expected, &APPLICATIONS)?;
    let (interval, packets) = match choice.name {
        "greedy" => {
            choice.only(&[])?;
            return Ok(Application::Greedy);
        }
        "transfers" => return transfers(&choice).map(Application::Transfers),
        "video" => {
            choice.only(&VIDEO)?;
            let fps = choice.or("fps", 25.0, |field| field.number(0.001..=1e6))?;
            let interval = Duration::from_secs_f64(1.0 / fps);
            let rate = choice.need("rate", r#"its rate, such as "400 kbit/s""#)?;
            (interval, packets(rate.rate()?, interval, packet))
        }
        "voice" => {
            choice.only(&VOICE)?;
            let interval = choice.or("interval", Duration::from_millis(20), positive)?;
            (interval, 1)
        }
        _ => return Err(choice.unknown("application", APPLICATIONS)),
    };
    let patience = choice.get("patience");
    let usual = [100, 200, 400].map(Duration::from_millis).to_vec();
    Ok(Application::Stream(Stream {
        interval,
        packets,
        patience: patience.as_ref().map(positive).transpose()?,
        playout: choice.or("playout", usual, |field| {
            let delays = field.list(r#"durations, such as ["150 ms", "400 ms"]"#)?;
            delays.iter().map(positive).collect()
        })?,
    }))
}

/// Reads the options of [`SizedTransfers`].
fn transfers(choice: &Choice<'_>) -> Result<SizedTransfers, Fault> {
    choice.only(&TRANSFERS)?;
    let size = choice.need("size", r#"the size of a transfer, such as "20 MB""#)?;
    let per_second = choice.or("per_second", 0.0, |field| field.number(0.0..=f64::MAX))?;
    let arrivals = choice.or("arrivals", Arrivals::Once, |field| {
        field.one_of(&[
            ("once", Arrivals::Once),
            ("in-turn", Arrivals::InTurn),
            ("poisson", Arrivals::Poisson { per_second }),
        ])
    })?;
    match (arrivals, choice.get("per_second")) {
        (Arrivals::Poisson { .. }, None) => {
            choice.need(
                "per_second",
                "how many transfers begin in a second, such as 0.5",
            )?;
        }
        (Arrivals::Once | Arrivals::InTurn, Some(field)) => {
            return Err(field.fault("only `arrivals = \"poisson\"` has a rate"));
        }
        _ => {}
    }
    Ok(SizedTransfers {
        size: size.bytes()?,
        arrivals,
    })
}

/// Returns the number of packets of `size` bytes that `rate` fills in an interval, rounded up and
/// at least one.
fn packets(rate: Rate, interval: Duration, size: u32) -> u32 {
    let bits = u128::from(rate.as_bps()) * u128::from(interval.as_nanos().unsigned_abs());
    let packet = u128::from(size.max(1)) * 8_000_000_000;
    u32::try_from(bits.div_ceil(packet).max(1)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_whole_packets_by_hand() {
        let frame = |kbps, size| packets(Rate::from_kbps(kbps), Duration::from_millis(40), size);
        // 400 kbit/s are 2000 bytes in 40 ms.
        assert_eq!(frame(400, 1000), 2);
        assert_eq!(frame(400, 999), 3);
        assert_eq!(frame(400, 2000), 1);
        assert_eq!(frame(0, 1000), 1);
    }
}
