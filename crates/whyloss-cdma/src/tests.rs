//! Compares the whole chain with closed forms.

use super::*;
use whyloss_link::Streams;

/// Returns Q(x), the tail of the normal distribution.
fn q(x: f64) -> f64 {
    0.5 * libm::erfc(x / core::f64::consts::SQRT_2)
}

/// Returns the share of uncoded bits that the RAKE gets wrong.
fn uncoded(powers: &[f32], variance: f64, seed: u64) -> f64 {
    let mut noise = vec![0.0; powers.len()];
    Normal::new().fill(&mut Streams::new(seed).stream("noise", 0), &mut noise);
    let deviation = libm::sqrt(variance) as f32;
    let wrong = powers
        .iter()
        .zip(&noise)
        .filter(|(g, n)| rake_output(**g, deviation * **n) < 0.0);
    wrong.count() as f64 / powers.len() as f64
}

#[test]
fn variance_by_hand() {
    // 10^0.4 = 2.511 886: N₀/(2E_s) = 1/2.511 886 = 0.398 107; (5 − 1/4)/48 = 0.098 958.
    let high = Parameters::cen(Level::High);
    assert!((high.variance() - 0.497_065).abs() < 1e-6);
    let low = Parameters::cen(Level::Low);
    assert!((low.variance() - 0.447_586).abs() < 1e-6);
    let coded = Parameters {
        energy: Energy::PerCodeBit,
        interference: Interference::OtherUsers,
        ..high
    };
    assert!((coded.variance() - (0.199_054 + 4.0 / 48.0)).abs() < 1e-6);
}

#[test]
fn one_steady_path_is_the_gaussian_channel() {
    for db in [0.0, 3.0, 6.0] {
        let es_n0 = libm::pow(10.0, db / 10.0);
        let expected = q(libm::sqrt(2.0 * es_n0));
        let n = 2_000_000;
        let rate = uncoded(&vec![1.0; n], 0.5 / es_n0, 1);
        let sigma = libm::sqrt(expected * (1.0 - expected) / n as f64);
        assert!(
            (rate - expected).abs() < 4.0 * sigma,
            "{db} dB: {rate} {expected}"
        );
    }
}

#[test]
fn combined_rayleigh_paths_give_proakis_error_rate() {
    // L branches of mean SNR γ each (Proakis, Digital Communications, 14.4-15): with μ =
    // √(γ/(1+γ)), P = ((1−μ)/2)^L · Σ_{k<L} C(L−1+k, k)·((1+μ)/2)^k.
    for (paths, db) in [(1_u32, 4.0), (1, 10.0), (2, 6.0), (4, 1.0), (4, 4.0)] {
        let es_n0 = libm::pow(10.0, db / 10.0);
        let gamma = es_n0 / f64::from(paths);
        let mu = libm::sqrt(gamma / (1.0 + gamma));
        let mut term = 1.0;
        let mut sum = 0.0;
        for k in 0..paths {
            sum += term;
            term *= f64::from(paths + k) / f64::from(k + 1) * (1.0 + mu) / 2.0;
        }
        let expected = libm::pow((1.0 - mu) / 2.0, f64::from(paths)) * sum;

        // Batches of 40 Doppler periods; the interval is Student's at 99.9 % with 63 degrees of
        // freedom (3.45).
        let normal = Normal::new();
        let mut random = Streams::new(5).stream("fading", u64::from(paths));
        let mut fading = Fading::new(paths as usize, 0.002, &normal, &mut random);
        let rates: Vec<f64> = (0..64)
            .map(|batch| {
                let mut powers = vec![0.0; 20_000];
                fading.powers(&normal, &mut random, &mut powers);
                uncoded(&powers, 0.5 / es_n0, batch)
            })
            .collect();
        let mean = rates.iter().sum::<f64>() / 64.0;
        let squares = rates
            .iter()
            .map(|rate| (rate - mean) * (rate - mean))
            .sum::<f64>();
        let half_width = 3.45 * libm::sqrt(squares / 63.0 / 64.0);
        assert!(
            (mean - expected).abs() < half_width,
            "{paths} {db}: {mean} {expected} ±{half_width}"
        );
    }
}

#[test]
fn without_noise_nothing_is_lost() {
    let clean = Parameters {
        eb_n0_db: 60.0,
        interference: Interference::None,
        ..Parameters::cen(Level::High)
    };
    let trial = clean.trial(5, Streams::new(1).stream("cdma", 0)).unwrap();
    assert_eq!(trial.lost, [false; 5]);
    assert_eq!((trial.bit_errors, trial.bits), (0, 5 * 3048));
}

#[test]
fn noise_alone_loses_every_packet() {
    let deaf = Parameters {
        eb_n0_db: -50.0,
        ..Parameters::cen(Level::High)
    };
    let trial = deaf.trial(10, Streams::new(1).stream("cdma", 0)).unwrap();
    assert_eq!(trial.lost, [true; 10]);
    // Each bit is decided at random: σ = 0.003; 4 σ.
    assert!((trial.bit_errors as f64 / trial.bits as f64 - 0.5).abs() < 0.012);
}

#[test]
fn a_trial_is_a_function_of_its_stream() {
    let high = Parameters::cen(Level::High);
    let run = |seed| {
        high.trial(60, Streams::new(seed).stream("cdma", 0))
            .unwrap()
    };
    assert_eq!(run(1), run(1));
    // With 5 dB less, losses are frequent enough to differ.
    let weak = Parameters {
        eb_n0_db: 2.0,
        ..high
    };
    let run = |seed| {
        weak.trial(60, Streams::new(seed).stream("cdma", 0))
            .unwrap()
    };
    assert_ne!(run(1), run(2));
}

#[test]
fn impossible_channels_are_refused() {
    let high = Parameters::cen(Level::High);
    assert!(high.check().is_ok());
    for wrong in [
        Parameters {
            spreading_gain: 0,
            ..high
        },
        Parameters { users: 0, ..high },
        Parameters { paths: 9, ..high },
        Parameters {
            interleaver_packets: 0,
            ..high
        },
        Parameters {
            packet_bytes: 0,
            ..high
        },
        Parameters {
            eb_n0_db: f64::NAN,
            ..high
        },
        Parameters {
            doppler: 0.0,
            ..high
        },
    ] {
        assert!(wrong.check().is_err());
        assert!(wrong.trial(1, Streams::new(1).stream("cdma", 0)).is_err());
    }
}
