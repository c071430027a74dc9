//! Finds minima of functions without derivatives (Nelder and Mead, 1965), and the curvature at a
//! minimum by central differences.

/// Returns the position of a minimum near `start`, where values differ by less than `precision`.
pub(super) fn minimise(
    start: &[f64],
    step: f64,
    most: usize,
    precision: f64,
    f: &mut dyn FnMut(&[f64]) -> f64,
) -> Vec<f64> {
    let n = start.len();
    let mut points = vec![(f(start), start.to_vec())];
    for axis in 0..n {
        let mut point = start.to_vec();
        point[axis] += step;
        points.push((f(&point), point));
    }
    for _ in 0..most {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let spread = points[n].0 - points[0].0;
        if spread < precision {
            break;
        }
        let mut centre = vec![0.0; n];
        for (_, point) in &points[..n] {
            for (sum, x) in centre.iter_mut().zip(point) {
                *sum += x / n as f64;
            }
        }
        let along = |t: f64| -> Vec<f64> {
            let worst = &points[n].1;
            let pairs = centre.iter().zip(worst);
            pairs
                .map(|(c, w)| (c + t * (c - w)).clamp(-30.0, 30.0))
                .collect()
        };
        let reflected = along(1.0);
        let value = f(&reflected);
        if value < points[0].0 {
            let further = along(2.0);
            let better = f(&further);
            points[n] = if better < value {
                (better, further)
            } else {
                (value, reflected)
            };
        } else if value < points[n - 1].0 {
            points[n] = (value, reflected);
        } else {
            let nearer = along(if value < points[n].0 { 0.5 } else { -0.5 });
            let inner = f(&nearer);
            if inner < points[n].0.min(value) {
                points[n] = (inner, nearer);
            } else {
                let best = points[0].1.clone();
                for (value, point) in &mut points[1..] {
                    for (x, b) in point.iter_mut().zip(&best) {
                        *x = f64::midpoint(*x, *b);
                    }
                    *value = f(point);
                }
            }
        }
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points.swap_remove(0).1
}

/// Returns the inverse of the matrix of second derivatives; `None` if it is singular.
pub(super) fn covariance(at: &[f64], f: &mut dyn FnMut(&[f64]) -> f64) -> Option<Vec<Vec<f64>>> {
    // The step of the differences, in the units of the parameters.
    const H: f64 = 0.02;
    let n = at.len();
    let mut moved = |i: usize, di: f64, j: usize, dj: f64| {
        let mut point = at.to_vec();
        point[i] += di;
        point[j] += dj;
        f(&point)
    };
    let mut matrix = vec![vec![0.0; n]; n];
    for (i, j) in (0..n).flat_map(|i| (0..=i).map(move |j| (i, j))) {
        let second = (moved(i, H, j, H) - moved(i, H, j, -H) - moved(i, -H, j, H)
            + moved(i, -H, j, -H))
            / (4.0 * H * H);
        (matrix[i][j], matrix[j][i]) = (second, second);
    }
    invert(matrix)
}

/// Inverts a matrix by Gauss–Jordan elimination with pivots.
fn invert(mut a: Vec<Vec<f64>>) -> Option<Vec<Vec<f64>>> {
    let n = a.len();
    let unit = |i: usize| (0..n).map(move |j| if i == j { 1.0 } else { 0.0 });
    let mut inverse: Vec<Vec<f64>> = (0..n).map(|i| unit(i).collect()).collect();
    for column in 0..n {
        let pivot =
            (column..n).max_by(|&i, &j| a[i][column].abs().total_cmp(&a[j][column].abs()))?;
        if a[pivot][column].abs() < 1e-9 {
            return None;
        }
        a.swap(column, pivot);
        inverse.swap(column, pivot);
        let scale = a[column][column];
        for matrix in [&mut a, &mut inverse] {
            matrix[column].iter_mut().for_each(|x| *x /= scale);
        }
        for row in (0..n).filter(|&row| row != column) {
            let factor = a[row][column];
            for matrix in [&mut a, &mut inverse] {
                let pivot = matrix[column].clone();
                for (cell, part) in matrix[row].iter_mut().zip(pivot) {
                    *cell -= factor * part;
                }
            }
        }
    }
    (0..n).all(|i| inverse[i][i] > 0.0).then_some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (x − 1)² + 10·(y − x)²: the minimum is (1, 1), the matrix [[22, −20], [−20, 20]], its
    /// inverse [[½, ½], [½, 0.55]].
    #[test]
    fn a_valley_by_hand() {
        let mut f = |p: &[f64]| (p[0] - 1.0).powi(2) + 10.0 * (p[1] - p[0]).powi(2);
        let found = minimise(&[-3.0, 4.0], 0.5, 500, 1e-5, &mut f);
        assert!((found[0] - 1.0).abs() < 0.01 && (found[1] - 1.0).abs() < 0.01);
        let covariance = covariance(&[1.0, 1.0], &mut f).expect("a minimum");
        assert!((covariance[0][0] - 0.5).abs() < 1e-6);
        assert!((covariance[1][1] - 0.55).abs() < 1e-6);
    }
}
