//! Statistical tests: intervals of differences, and counts that should be binomial.

use statrs::distribution::{Binomial, DiscreteCDF};

use whyloss_study::Line;
use whyloss_study::expr::Expr;

use super::super::document::Text;
use super::super::error::{Fault, fault};
use super::{Scope, Value};

/// The confidence level of all comparisons of a claim together.
const CONFIDENCE: f64 = 0.95;

impl Scope<'_> {
    /// Returns whether at every place the interval of the difference overlaps ±`allowed`.
    pub(super) fn reaches(&self, difference: &Line, allowed: f64) -> bool {
        let half = |width: f64| if width.is_nan() { 0.0 } else { width };
        let (mut listed, mut holds) = (Vec::new(), true);
        for (x, mean) in difference.means() {
            let half = half(mean.half_width);
            holds &= mean.value.abs() <= allowed + half;
            let place = self.paper.notation.place(x);
            listed.push(format!("{place}: {:+.5} ± {half:.5}", mean.value));
        }
        self.note(format!("{}: {}", difference.name, listed.join(", ")));
        holds && !listed.is_empty()
    }

    /// Returns whether counts agree with a binomial distribution. The arguments are k, n and p, and
    /// so on; each place of k is one comparison. Each comparison has a two-sided test at 5 % over
    /// the number of comparisons (Clopper and Pearson's interval, Bonferroni's correction).
    pub(super) fn binomial(&self, of: &[Expr], text: &'static Text) -> Result<Value, Fault> {
        let lines = self.each_line(of, text)?;
        let mut comparisons = Vec::new();
        for of in lines.chunks(3) {
            let [hits, trials, probability] = of else {
                return Err(fault(text, "`binomial` takes k, n and p, and so on"));
            };
            for (x, mean) in hits.means() {
                let (k, n) = (mean.value, trials.at(x).value);
                let p = probability.at(x).value;
                let Some(significance) = significance(k as u64, n as u64, p) else {
                    continue;
                };
                let (name, place) = (&hits.name, self.paper.notation.place(x));
                let told = format!(
                    "{name} at {place}: {k} of {n}, {:.1} expected (p {significance:.3})",
                    p * n
                );
                comparisons.push((significance, told));
            }
        }
        let allowed = (1.0 - CONFIDENCE) / comparisons.len().max(1) as f64;
        let holds = comparisons.iter().all(|(p, _)| *p >= allowed) && !comparisons.is_empty();
        comparisons.sort_by(|a, b| a.0.total_cmp(&b.0));
        let worst = comparisons.iter().take(3).map(|(_, told)| told.as_str());
        let worst: Vec<&str> = worst.collect();
        self.note(format!(
            "{} comparisons; the least likely: {}",
            comparisons.len(),
            worst.join("; ")
        ));
        Ok(Value::Number(f64::from(u8::from(holds))))
    }
}

/// Returns twice the smaller tail probability of `hits` among `trials`; `None` if `trials` is 0.
fn significance(hits: u64, trials: u64, probability: f64) -> Option<f64> {
    let law = Binomial::new(probability, trials).ok()?;
    let above = if hits == 0 { 1.0 } else { law.sf(hits - 1) };
    (trials > 0).then(|| (2.0 * law.cdf(hits).min(above)).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_by_hand() {
        // With two fair coins, P(no heads) = 1/4, P(at least one) = 3/4, and P(both) = 1/4.
        for (hits, expected) in [(0, 0.5), (1, 1.0), (2, 0.5)] {
            let found = significance(hits, 2, 0.5).expect("trials");
            assert!((found - expected).abs() < 1e-12, "{found}");
        }
        assert_eq!(significance(0, 0, 0.5), None);
    }
}
