//! Finds the weights of the combined verdict: logistic regression with a small ridge, by Newton's
//! method.

use whyloss::Cause;
use whyloss_diagnose::loss::Side;
use whyloss_diagnose::verdict::verdict;

use crate::{Found, QUIC};

const N: usize = 32;
/// The ridge, which keeps the weights of features that hardly vary small.
const RIDGE: f64 = 1.0;
/// The largest weight of a network, in losses. Without it, networks with very many losses would
/// decide alone.
const PER_NETWORK: f64 = 300.0;

/// The weights of one side, and the prior odds of congestion on the networks of the fit.
#[derive(Clone, Copy)]
pub(crate) struct Fit {
    weights: [f64; N],
    congestion: f64,
}

pub(crate) fn print([beyond, before]: [Fit; 2]) {
    println!("//! Weights of the combined verdict.\n//!");
    println!(
        "//! Found by `cargo run --release -p whyloss-diagnose --example evaluate -- --fit`; do not edit by hand.\n"
    );
    println!(
        "/// For losses behind the point of capture: delays are round trips, votes those of sender classifiers."
    );
    constant("BEYOND", &beyond);
    println!(
        "\n/// For losses before it: delays are one-way, votes those of receiver classifiers."
    );
    constant("BEFORE", &before);
    println!(
        "\n/// How many losses were by congestion for each by the link, before the point of capture."
    );
    println!("pub(super) const PRIOR: f64 = {:.4};", before.congestion);
}

#[allow(
    clippy::needless_range_loop,
    reason = "matrices are read by row and column"
)]
pub(crate) fn fit(found: &[Found], side: Side) -> Fit {
    let mut many = std::collections::HashMap::new();
    let usable = || {
        found.iter().filter(|one| {
            one.side == side && one.place != QUIC && one.features.is_some() && one.truth.is_some()
        })
    };
    for one in usable() {
        *many.entry((one.network, one.place)).or_insert(0.0) += 1.0;
    }
    let samples: Vec<([f64; N], f64, f64)> = usable()
        .filter_map(|one| {
            let wireless = f64::from(u8::from(one.truth? == Cause::Wireless));
            let weight = (PER_NETWORK / many[&(one.network, one.place)]).min(1.0);
            Some((one.features?.0, wireless, weight))
        })
        .collect();
    let mut w = [0.0; N];
    for _ in 0..30 {
        let mut gradient = [0.0; N];
        let mut hessian = [[0.0; N]; N];
        for (x, y, weight) in &samples {
            let sum: f64 = w.iter().zip(x).map(|(w, x)| w * x).sum();
            let p = 1.0 / (1.0 + (-sum).exp());
            for i in 0..N {
                gradient[i] += weight * (y - p) * x[i];
                for j in 0..=i {
                    hessian[i][j] += weight * p * (1.0 - p) * x[i] * x[j];
                }
            }
        }
        for i in 0..N {
            gradient[i] -= RIDGE * w[i];
            hessian[i][i] += RIDGE;
            for j in 0..i {
                hessian[j][i] = hessian[i][j];
            }
        }
        let step = solve(hessian, gradient);
        w.iter_mut().zip(step).for_each(|(w, step)| *w += step);
        if step.iter().all(|step| step.abs() < 1e-6) {
            break;
        }
    }
    let of = |wireless: bool| -> f64 {
        let mine = samples.iter().filter(|sample| (sample.1 > 0.5) == wireless);
        mine.map(|sample| sample.2).sum()
    };
    Fit {
        weights: w,
        congestion: of(false) / of(true),
    }
}

fn constant(name: &str, fit: &Fit) {
    println!("pub(super) const {name}: [f64; {N}] = [");
    for w in fit.weights {
        println!("    {w:.4},");
    }
    println!("];");
}

/// Sets the verdict of each loss by these weights.
pub(crate) fn judge(found: &mut [Found], [beyond, before]: [Fit; 2]) {
    for one in found {
        let fit = if one.side == Side::Beyond {
            beyond
        } else {
            before
        };
        one.verdict = one.features.and_then(|features| {
            let sum: f64 = fit
                .weights
                .iter()
                .zip(&features.0)
                .map(|(w, x)| w * x)
                .sum();
            verdict(1.0 / (1.0 + (-sum).exp()))
        });
    }
}

/// Gauss elimination with pivoting.
fn solve(mut a: [[f64; N]; N], mut b: [f64; N]) -> [f64; N] {
    for column in 0..N {
        let pivot = (column..N)
            .max_by(|&i, &j| a[i][column].abs().total_cmp(&a[j][column].abs()))
            .unwrap_or(column);
        a.swap(column, pivot);
        b.swap(column, pivot);
        for row in column + 1..N {
            let factor = a[row][column] / a[column][column];
            let above = a[column];
            a[row]
                .iter_mut()
                .zip(above)
                .for_each(|(cell, above)| *cell -= factor * above);
            b[row] -= factor * b[column];
        }
    }
    for row in (0..N).rev() {
        let known: f64 = (row + 1..N).map(|column| a[row][column] * b[column]).sum();
        b[row] = (b[row] - known) / a[row][row];
    }
    b
}
