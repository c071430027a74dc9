//! Draws target and queue over time as SVG, for one lost packet in twenty on a path whose capacity
//! falls.

use crate::path::{Channel, Path};
use crate::peers::{Peer, Theirs, Whyloss};
use crate::run::{self, Outcome};
use std::fmt::Write;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 180.0;
const LEFT: f64 = 60.0;

/// Draws one line, at most one point per tenth of a second.
fn line(svg: &mut String, values: &[(f64, f64)], duration: f64, most: f64, top: f64, colour: &str) {
    let _ = write!(
        svg,
        "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" points=\""
    );
    let mut next = 0.0;
    for &(at, value) in values.iter().filter(|(at, _)| *at >= 0.0) {
        if at >= next {
            next = at + 0.1;
            let x = LEFT + (WIDTH - LEFT) * at / duration;
            let y = top + HEIGHT * (1.0 - (value / most).clamp(0.0, 1.0));
            let _ = write!(svg, "{x:.1},{y:.1} ");
        }
    }
    svg.push_str("\"/>\n");
}

fn text(svg: &mut String, x: f64, y: f64, colour: &str, words: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" fill=\"{colour}\" font-family=\"sans-serif\" font-size=\"13\">{words}</text>"
    );
}

pub(crate) fn draw(file: &str) -> Result<(), String> {
    let path = Path {
        channel: Channel::Random(0.05),
        step: Some((20.0, 0.4)),
        ..Path::new(3e6)
    };
    let duration = 40.0;
    let run = |peer: &mut dyn Peer| run::run(&path, duration, 1, peer);
    let runs: [(&str, &str, Outcome); 2] = [
        (
            "GCC",
            "#d55e00",
            run(&mut Theirs::new(300e3, crate::LEAST, crate::MOST)),
        ),
        ("whyloss", "#0072b2", run(&mut Whyloss::new(300e3, false))),
    ];
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {}\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        2.0 * HEIGHT + 80.0
    );
    let (rate, queue) = (25.0, HEIGHT + 60.0);
    let capacity: Vec<(f64, f64)> = (0..400)
        .map(|tenth| f64::from(tenth) / 10.0)
        .map(|at| (at, path.capacity_at(at)))
        .collect();
    line(&mut svg, &capacity, duration, 4e6, rate, "#999999");
    for (_, colour, outcome) in &runs {
        line(&mut svg, &outcome.targets, duration, 4e6, rate, colour);
        line(&mut svg, &outcome.waited, duration, 0.1, queue, colour);
    }
    let grey = "#444444";
    text(
        &mut svg,
        LEFT,
        rate - 8.0,
        grey,
        "target, 0 to 4 Mbit/s; grey: capacity",
    );
    text(
        &mut svg,
        LEFT,
        queue - 8.0,
        grey,
        "queueing delay, 0 to 100 ms, over 40 s",
    );
    for (place, (name, colour, _)) in runs.iter().enumerate() {
        text(
            &mut svg,
            500.0 + 100.0 * place as f64,
            rate - 8.0,
            colour,
            name,
        );
    }
    svg.push_str("</svg>\n");
    std::fs::write(file, svg).map_err(|error| format!("cannot write {file}: {error}"))
}
