//! Formats channels and rates as in a scenario.

use whyloss_link::{ArqSpec, ChannelSpec, JitterLaw, JitterSpec};

use super::Parameter;
use super::model::told;
use super::rates::RateLaw;

/// Returns the channel as the value of a scenario's `channel`, with six digits.
pub fn channel(channel: &ChannelSpec) -> String {
    let kind = match channel {
        ChannelSpec::Bernoulli { .. } => "bernoulli",
        ChannelSpec::GilbertElliott(_) => "gilbert-elliott",
        ChannelSpec::TimedGilbertElliott(_) => "timed-gilbert-elliott",
        _ => "burst-renewal",
    };
    let mut keys = vec![format!("kind = \"{kind}\"")];
    let mut lengths = Vec::new();
    for (name, value) in told(channel) {
        if name.starts_with("lengths[") {
            lengths.push(value);
        } else if name.starts_with("mean_") {
            keys.push(format!("{name} = {}", time(value)));
        } else {
            keys.push(format!("{name} = {}", real(value)));
        }
    }
    if !lengths.is_empty() {
        // The parts are whole millionths that sum to one.
        let mut parts: Vec<i64> = lengths
            .iter()
            .map(|p| libm::round(p * 1e6) as i64)
            .collect();
        parts[0] += 1_000_000 - parts.iter().sum::<i64>();
        let parts: Vec<String> = parts.iter().map(|part| real(*part as f64 / 1e6)).collect();
        keys.insert(2, format!("lengths = [{}]", parts.join(", ")));
    }
    format!("{{ {} }}", keys.join(", "))
}

/// Returns the rate model as the value of a link's `rate`.
pub fn rate(law: &RateLaw) -> String {
    let states = law.states.iter();
    let (rates, means): (Vec<String>, Vec<String>) = states
        .map(|(rate, mean)| {
            let millis = mean.as_nanos() / 1_000_000;
            (
                format!("\"{} bit/s\"", rate.as_bps()),
                format!("\"{millis} ms\""),
            )
        })
        .unzip();
    format!(
        "{{ rates = [{}], means = [{}] }}",
        rates.join(", "),
        means.join(", ")
    )
}

/// Returns the distribution as the value of a link's `jitter`.
pub fn jitter(spec: &JitterSpec) -> String {
    let mean = time(spec.mean.as_secs_f64());
    let law = match spec.law {
        JitterLaw::Uniform => "kind = \"uniform\"".to_owned(),
        JitterLaw::Exponential => "kind = \"exponential\"".to_owned(),
        JitterLaw::Pareto(shape) => format!("kind = \"pareto\", shape = {}", real(shape)),
    };
    let order = if spec.in_order {
        ""
    } else {
        ", in_order = false"
    };
    format!("{{ {law}, mean = {mean}{order} }}")
}

/// Returns the model as the value of a link's `arq`.
pub fn arq(spec: &ArqSpec) -> String {
    let turnaround = spec.turnaround.as_nanos() as f64 / 1e3;
    let parallel = if spec.parallel {
        ", parallel = true"
    } else {
        ""
    };
    let order = if spec.in_order {
        ""
    } else {
        ", in_order = false"
    };
    let tries = spec.tries;
    format!("{{ tries = {tries}, turnaround = \"{turnaround:.0} us\"{parallel}{order} }}")
}

/// Returns a time in s in the syntax of scenarios, with its unit.
pub fn time(seconds: f64) -> String {
    format!("\"{:.0} us\"", (seconds * 1e6).max(1.0))
}

/// Formats a parameter and its interval for people.
pub fn parameter(parameter: &Parameter) -> String {
    let Parameter {
        name,
        value,
        interval,
    } = parameter;
    let unit = if name.starts_with("mean_") { " s" } else { "" };
    match interval {
        Some((least, most)) => format!(
            "{name} {}{unit} ({} to {})",
            digits(*value),
            digits(*least),
            digits(*most)
        ),
        None => format!("{name} {}{unit}", digits(*value)),
    }
}

fn real(value: f64) -> String {
    format!("{:?}", libm::round(value * 1e6) / 1e6)
}

/// Returns a number with four significant digits and at most nine decimals.
pub fn digits(value: f64) -> String {
    let size = if value > 0.0 {
        libm::floor(libm::log10(value)) as i32
    } else {
        0
    };
    format!("{value:.*}", (3 - size).clamp(0, 9) as usize)
}

#[cfg(test)]
mod tests {
    use whyloss_link::channel::BurstRenewal;

    use super::*;

    #[test]
    fn lengths_sum_to_one() {
        let spec = ChannelSpec::BurstRenewal(BurstRenewal {
            loss: 0.05,
            lengths: vec![1.0 / 3.0; 3],
            good_run_cv: Some(1.5),
        });
        assert_eq!(
            channel(&spec),
            "{ kind = \"burst-renewal\", loss = 0.05, lengths = [0.333334, 0.333333, 0.333333], good_run_cv = 1.5 }"
        );
        assert_eq!(
            channel(&ChannelSpec::Bernoulli { loss: 0.1 }),
            "{ kind = \"bernoulli\", loss = 0.1 }"
        );
    }
}
