//! Whether packets are lost as often as the closed form says (ELA-12).
//!
//! ```text
//! P(loss) = 1 − e^{−8·c·BER}     c sensitive bytes
//! ```
//!
//! Of the packets whose fate is known, all runs together, the number that errors destroyed is binomial. It agrees if
//! both tails are more likely than 2.5 % over the number of comparisons (Clopper and Pearson's interval, Bonferroni's
//! correction): among 36 comparisons two would otherwise fail by chance.

use statrs::distribution::{Binomial, DiscreteCDF};

use whyloss_study::Claim;

use super::measure::{GOODPUT, Reading, place};

/// The probability that a packet is lost.
pub(crate) fn loss(ber: f64, coverage: u32) -> f64 {
    -libm::expm1(-f64::from(8 * coverage) * ber)
}

/// Twice the smaller tail of `lost` among `known`; `None` without packets.
fn significance(lost: u64, known: u64, probability: f64) -> Option<f64> {
    let law = Binomial::new(probability, known).ok()?;
    let above = if lost == 0 { 1.0 } else { law.sf(lost - 1) };
    (known > 0).then(|| (2.0 * law.cdf(lost).min(above)).min(1.0))
}

/// The claim over all BERs of these lines, each with its sensitive bytes.
pub(crate) fn claim(reading: &Reading, sensitive: &[(String, u32)]) -> Claim {
    let mut comparisons = Vec::new();
    for (id, coverage) in sensitive {
        let name = reading.line(id, &GOODPUT).name;
        for &ber in reading.runs.xs() {
            let runs = reading.runs.at(id, ber);
            let lost: u64 = runs.iter().map(|run| run.errors).sum();
            let known = lost + runs.iter().map(|run| run.received).sum::<u64>();
            let expected = loss(ber, *coverage);
            if let Some(significance) = significance(lost, known, expected) {
                let text = format!(
                    "{name} at {}: {lost} of {known}, {:.1} expected (p {significance:.3})",
                    place(ber),
                    expected * known as f64
                );
                comparisons.push((significance, text));
            }
        }
    }
    let allowed = 0.05 / comparisons.len().max(1) as f64;
    let holds = !comparisons.is_empty() && comparisons.iter().all(|(p, _)| *p >= allowed);
    comparisons.sort_by(|a, b| a.0.total_cmp(&b.0));
    let worst: Vec<&str> = comparisons
        .iter()
        .take(3)
        .map(|(_, t)| t.as_str())
        .collect();
    Claim::new(
        "ELA-12",
        "packets are lost with 1 − e^(−8·c·BER) at every BER, c bytes being sensitive (95 % confidence of all together)",
        holds,
        format!(
            "{} comparisons; the least likely: {}",
            comparisons.len(),
            worst.join("; ")
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_form_by_hand() {
        // 8192 bits at 1e-4: 1 − e^−0.8192.
        assert!((loss(1e-4, 1024) - 0.559_215).abs() < 1e-6);
        assert!((loss(1e-5, 40) - 0.003_194_9).abs() < 1e-7);
    }

    #[test]
    fn tails_by_hand() {
        // Of two coins none shows heads with 1/4, at least one with 3/4, both with 1/4.
        let near = |value: Option<f64>, expected: f64| {
            assert!(
                (value.expect("packets") - expected).abs() < 1e-12,
                "{value:?}"
            );
        };
        near(significance(0, 2, 0.5), 0.5);
        near(significance(1, 2, 0.5), 1.0);
        near(significance(2, 2, 0.5), 0.5);
        assert_eq!(significance(0, 0, 0.5), None);
    }
}
