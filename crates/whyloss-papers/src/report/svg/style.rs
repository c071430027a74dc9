//! What tells one series from another: colour, marker and dash, so that any two of the three may be lost (a copy in
//! black and white, a reader who does not see red from green, a line that crosses nine others).
//!
//! The colours are those of Okabe and Ito (*Color Universal Design*, 2008), its yellow, too faint on white, replaced
//! by a brown.

use core::f64::consts::TAU;

use super::canvas::{Colour, Path, Place};

/// Text and axes.
pub(crate) const INK: Colour = "#1f2328";
/// Grid lines.
pub(crate) const GRID: Colour = "#e4e6e9";
/// Behind everything.
pub(crate) const PAPER: Colour = "#ffffff";

const COLOURS: [Colour; 8] = [
    "#0072b2", // blue
    "#d55e00", // vermillion
    INK, "#009e73", // bluish green
    "#e69f00", // orange
    "#cc79a7", // reddish purple
    "#56b4e9", // sky blue
    "#8a5a2b", // brown
];

/// Lengths of line and gap in pixels, in turn.
const DASHES: [&str; 4] = ["7 3.5", "2 3", "9 3 2 3", "14 4"];

/// Opacities of bars, each far from the next.
const TINTS: [&str; 4] = [".9", ".35", ".65", ".15"];

/// The shape of a marker; radii are those of its corners, a disc of radius 1 having about its area.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Marker {
    Disc,
    /// Corners, turn of the first in parts of a circle from the right, radius.
    Polygon(u32, f64, f64),
    /// The same, and the radius between the corners.
    Star(u32, f64, f64, f64),
}

const MARKERS: [Marker; 9] = [
    Marker::Disc,
    Marker::Polygon(4, 0.125, 1.25), // square
    Marker::Polygon(3, 0.75, 1.35),  // triangle
    Marker::Polygon(4, 0.0, 1.4),    // diamond
    Marker::Polygon(3, 0.25, 1.35),  // triangle downwards
    Marker::Star(4, 0.0, 1.6, 0.66),
    Marker::Star(5, 0.75, 1.5, 0.68),
    Marker::Star(4, 0.125, 1.6, 0.66), // cross
    Marker::Polygon(6, 0.0, 1.2),
];

/// How one series is drawn, in every panel of a figure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) colour: Colour,
    /// Its `stroke-dasharray`; empty if it is solid.
    pub(super) dash: &'static str,
    /// Opacity of its bars.
    pub(super) tint: &'static str,
    marker: Marker,
}

impl Style {
    /// The `index`-th series of a figure; `dashed` before it have been dashed.
    pub(super) fn new(index: usize, dashed: Option<usize>) -> Self {
        Self {
            colour: COLOURS[index % COLOURS.len()],
            dash: dashed.map_or("", |nth| DASHES[nth % DASHES.len()]),
            tint: TINTS[index % TINTS.len()],
            marker: MARKERS[index % MARKERS.len()],
        }
    }

    /// Adds the marker around `centre` to `path`, of about the area of a disc of `radius` tenths of a pixel.
    pub(super) fn mark(&self, path: &mut Path, centre: Place, radius: i32) {
        let corner = |turn: f64, distance: f64| {
            let distance = distance * f64::from(radius);
            let offset = |part: f64| libm::round(distance * part) as i32;
            let (sin, cos) = libm::sincos(TAU * turn);
            (centre.0 + offset(cos), centre.1 + offset(sin))
        };
        match self.marker {
            Marker::Disc => path.disc(centre, radius),
            Marker::Polygon(corners, turn, outer) => {
                let part = |step: u32| turn + f64::from(step) / f64::from(corners);
                path.outline((0..corners).map(|step| corner(part(step), outer)));
            }
            Marker::Star(corners, turn, outer, inner) => {
                let part = |step: u32| turn + f64::from(step) / f64::from(2 * corners);
                path.outline((0..2 * corners).map(|step| {
                    let distance = if step % 2 == 0 { outer } else { inner };
                    corner(part(step), distance)
                }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_differ_in_colour_or_marker_up_to_72() {
        let mut seen = Vec::new();
        for index in 0..72 {
            let style = Style::new(index, None);
            let look = (style.colour, style.marker);
            assert!(!seen.contains(&look), "{index}");
            seen.push(look);
        }
    }
}
