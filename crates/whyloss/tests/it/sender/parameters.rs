//! Parameters of a registry's entry from plain numbers.
//!
//! The property tests and the fuzz targets share this file by path.

use whyloss::registry::Parameter;

/// Returns values for some of `parameters`. Each choice has an index, modulo their number, and a
/// position in the range.
pub(crate) fn in_range(
    parameters: &'static [Parameter],
    chosen: &[(usize, u16)],
) -> Vec<(&'static str, f64)> {
    overrides(parameters, chosen, |parameter, given| {
        let share = f64::from(given) / f64::from(u16::MAX);
        let value = parameter.min + share * (parameter.max - parameter.min);
        if parameter.whole {
            value.round()
        } else {
            value
        }
    })
}

/// Returns values for some of `parameters`. The first number selects the parameter, modulo their
/// count, and `value` converts the second.
pub(crate) fn overrides<T: Copy>(
    parameters: &'static [Parameter],
    chosen: &[(usize, T)],
    value: impl Fn(&Parameter, T) -> f64,
) -> Vec<(&'static str, f64)> {
    chosen
        .iter()
        .filter(|_| !parameters.is_empty())
        .map(|&(index, given)| {
            let parameter = &parameters[index % parameters.len()];
            (parameter.name, value(parameter, given))
        })
        .collect()
}
