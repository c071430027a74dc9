//! The TCP throughput equation (RFC 5348, 3.1; Padhye, Firoiu, Towsley, Kurose, 1998) and its
//! inverse.
//!
//! ```text
//!                                   s
//! X = ------------------------------------------------------------
//!     R·√(2bp/3) + t_RTO · (3·√(3bp/8)) · p · (1 + 32p²)
//! ```
//!
//! X in bytes per second, s in bytes, R and t_RTO in seconds, p in (0, 1], b packets per
//! acknowledgement. The SIGCOMM 2000 paper and ns-2 write min(1, 3√(3bp/8)) where the RFC has no
//! minimum: [`Equation::cap_timeouts`].

/// The parameters of TCP's throughput equation, except the loss event rate p.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Equation {
    /// The packet size s, in bytes.
    pub packet_size: f64,
    /// The round-trip time R, in seconds; positive.
    pub rtt: f64,
    /// The retransmission timeout t_RTO, in seconds.
    pub t_rto: f64,
    /// The number b of packets per TCP acknowledgement.
    pub packets_per_ack: f64,
    /// Whether 3√(3bp/8) is limited to 1.
    pub cap_timeouts: bool,
}

impl Equation {
    /// Returns the throughput X at loss event rate `p`, in bytes per second. It falls as `p` rises.
    pub fn throughput(&self, p: f64) -> f64 {
        let b = self.packets_per_ack;
        let mut timeouts = 3.0 * libm::sqrt(3.0 * b * p / 8.0);
        if self.cap_timeouts {
            timeouts = timeouts.min(1.0);
        }
        let seconds_per_packet = self.rtt * libm::sqrt(2.0 * b * p / 3.0)
            + self.t_rto * timeouts * p * (1.0 + 32.0 * p * p);
        self.packet_size / seconds_per_packet
    }

    /// Returns the loss event rate at which the throughput is `throughput` bytes per second, in
    /// [`MIN_P`]..=1. It is exact to 1e-12; RFC 5348 (6.3.1) requires 5 %.
    pub fn loss_event_rate(&self, throughput: f64) -> f64 {
        let (mut low, mut high) = (MIN_P, 1.0);
        if self.throughput(low) <= throughput {
            return low;
        }
        while high - low > 1e-12 {
            let middle = 0.5 * (low + high);
            if self.throughput(middle) > throughput {
                low = middle;
            } else {
                high = middle;
            }
        }
        high
    }
}

/// The smallest loss event rate that [`Equation::loss_event_rate`] returns: one loss event in a
/// hundred million packets.
pub const MIN_P: f64 = 1e-8;

#[cfg(test)]
mod tests {
    use super::*;

    fn equation(packet_size: f64, rtt: f64) -> Equation {
        Equation {
            packet_size,
            rtt,
            t_rto: 4.0 * rtt,
            packets_per_ack: 1.0,
            cap_timeouts: false,
        }
    }

    /// CEN-D1: WLH with N = 1, R = 130 ms, p = 0.078. √(0.052) = 0.228035; 12·√(0.02925) =
    /// 2.052316; p(1+32p²) = 0.078·1.194688 = 0.0931857. Then 0.228035 + 2.052316·0.0931857 =
    /// 0.419282, and 762/(0.13·0.419282) = 13979.9 byte/s = 111.84 kbit/s = 0.7456 of 150.
    #[test]
    fn cen_d1_last_hop() {
        let x = equation(762.0, 0.130).throughput(0.078);
        assert!((x - 13_979.9).abs() < 1.0, "{x}");
        assert!((x * 8.0 / 150e3 - 0.75).abs() < 0.005);
    }

    /// CEN-D1: the other published points.
    #[test]
    fn cen_d1_other_points() {
        for (rtt, bottleneck, p, share) in [
            (0.130, 150e3, 0.070, 0.84),
            (0.130, 150e3, 0.058, 1.0),
            (0.053, 800e3, 0.078, 0.34),
            (0.053, 800e3, 0.070, 0.385),
            (0.053, 800e3, 0.058, 0.46),
        ] {
            let x = equation(762.0, rtt).throughput(p) * 8.0 / bottleneck;
            assert!((x - share).abs() < 0.02, "p {p}: {x} is not {share}");
        }
    }

    /// p = 0.01, R = 100 ms, s = 1000: √(0.02/3) = 0.0816497; 12√(0.00375)·0.01·1.0032 =
    /// 0.00737200; 1000/(0.1·0.0890217) = 112332.
    #[test]
    fn one_percent_by_hand() {
        let x = equation(1000.0, 0.1).throughput(0.01);
        assert!((x - 112_332.0).abs() < 1.0, "{x}");
    }

    /// 3√(3p/8) reaches 1 at p = 8/27 = 0.2963 (CEN-12).
    #[test]
    fn the_cap_matters_above_27_percent_only() {
        let free = equation(1000.0, 0.1);
        let capped = Equation {
            cap_timeouts: true,
            ..free
        };
        assert!((free.throughput(0.296) - capped.throughput(0.296)).abs() < 1e-9);
        assert!(capped.throughput(0.3) > free.throughput(0.3));
        // p = 1: √(2/3) + 4·33 = 132.8165 R per packet with the cap, √(2/3) + 12·√(3/8)·33 =
        // 243.3162 without it.
        assert!((capped.throughput(1.0) - 1000.0 / 13.281_65).abs() < 1e-3);
        assert!((free.throughput(1.0) - 1000.0 / 24.331_62).abs() < 1e-3);
    }

    #[test]
    fn the_inverse_undoes_the_equation() {
        let e = equation(762.0, 0.130);
        for p in [1e-6, 0.001, 0.078, 0.5, 1.0] {
            let back = e.loss_event_rate(e.throughput(p));
            assert!((back - p).abs() < 1e-9 * p.max(1e-2), "{p} became {back}");
        }
        assert!((e.loss_event_rate(0.0) - 1.0).abs() < 1e-9);
        assert!((e.loss_event_rate(f64::INFINITY) - MIN_P).abs() < 1e-20);
    }
}
