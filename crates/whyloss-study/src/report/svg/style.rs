//! Defines the colour, marker and dash of series. Any of the three suffices to tell series apart:
//! in black and white, for colour-blind readers, or where lines cross.
//!
//! The colours are those of Okabe and Ito (*Color Universal Design*, 2008), with grey instead of
//! yellow, and with darker orange and sky blue. Each has a contrast of at least 3 : 1 (WCAG 2.2,
//! 1.4.11) with white and with the background of a dark page.

use core::f64::consts::TAU;

use plotters::style::RGBColor;

use crate::Sign;

/// The colour of text and axes.
pub(crate) const INK: RGBColor = RGBColor(0x1f, 0x23, 0x28);
/// The colour of grid lines.
pub(crate) const GRID: RGBColor = RGBColor(0xe4, 0xe6, 0xe9);
/// The colour of the background.
pub(crate) const PAPER: RGBColor = RGBColor(0xff, 0xff, 0xff);

/// Returns a [sign's colour](Sign::colour) as web pages write it, such as `#0072B2`.
pub fn colour(index: usize) -> String {
    hex(COLOURS[index % COLOURS.len()])
}

pub(crate) fn hex(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

const COLOURS: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xb2), // blue
    RGBColor(0xd5, 0x5e, 0x00), // vermillion
    INK,
    RGBColor(0x00, 0x9e, 0x73), // bluish green
    RGBColor(0xc0, 0x78, 0x00), // orange
    RGBColor(0xcc, 0x79, 0xa7), // reddish purple
    RGBColor(0x2b, 0x93, 0xcf), // sky blue
    RGBColor(0x7a, 0x7f, 0x87), // grey
];

/// The lengths of line and gap in turn, in pixels.
const DASHES: [&[f64]; 4] = [
    &[7.0, 3.5],
    &[2.0, 3.0],
    &[9.0, 3.0, 2.0, 3.0],
    &[14.0, 4.0],
];

/// Opacities of bars, chosen to be far apart.
const TINTS: [f64; 4] = [0.9, 0.35, 0.65, 0.15];

/// The markers as stars: number of corners, angle of the first corner in turns from the right,
/// outer and inner radius. In a plain polygon, the inner radius is the outer one times
/// cos(π/corners).
const MARKERS: [(u32, f64, f64, f64); 9] = [
    (24, 0.0, 1.0, 1.0),     // disc
    (4, 0.125, 1.25, 0.884), // square
    (3, 0.75, 1.35, 0.675),  // triangle
    (4, 0.0, 1.4, 0.99),     // diamond
    (3, 0.25, 1.35, 0.675),  // triangle downwards
    (4, 0.0, 1.6, 0.66),     // four-pointed star
    (5, 0.75, 1.5, 0.68),    // star
    (4, 0.125, 1.6, 0.66),   // cross
    (6, 0.0, 1.2, 1.04),     // hexagon
];

/// The style of one series in every panel of a figure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) colour: RGBColor,
    pub(super) dash: &'static [f64],
    /// The opacity of the series' bars, from 0 to 1.
    pub(super) tint: f64,
    pub(super) marker: (u32, f64, f64, f64),
    /// Whether markers are outlines, because the colours repeat.
    pub(super) hollow: bool,
}

impl Style {
    /// Returns the style of a figure's series number `index`; `dashed` numbers it among the dashed
    /// ones.
    pub(super) fn new(index: usize, dashed: Option<usize>) -> Self {
        Self {
            colour: COLOURS[index % COLOURS.len()],
            dash: dashed.map_or(&[], |nth| DASHES[nth % DASHES.len()]),
            tint: TINTS[index % TINTS.len()],
            marker: MARKERS[index % MARKERS.len()],
            hollow: index / COLOURS.len() % 2 == 1,
        }
    }

    /// Returns the style of a sign.
    pub(super) fn of(sign: Sign) -> Self {
        let style = Self::new(sign.colour, None);
        Self {
            marker: MARKERS[sign.shape % MARKERS.len()],
            ..style
        }
    }

    /// Returns the marker's outline around `(x, y)`, about as large as a disc of `radius`.
    pub(super) fn marker(&self, (x, y): (i32, i32), radius: f64) -> Vec<(i32, i32)> {
        let (corners, turn, outer, inner) = self.marker;
        (0..2 * corners)
            .map(|step| {
                let angle = TAU * (turn + f64::from(step) / f64::from(2 * corners));
                let distance = radius * if step % 2 == 0 { outer } else { inner };
                let place =
                    |centre: i32, offset: f64| centre + libm::round(offset * distance) as i32;
                (place(x, libm::cos(angle)), place(y, libm::sin(angle)))
            })
            .collect()
    }
}

/// Cuts a line into dashes. `pattern` alternates lengths of line and gap; an empty one keeps one
/// piece.
pub(super) fn dashes(line: &[(i32, i32)], pattern: &[f64]) -> Vec<Vec<(i32, i32)>> {
    let Some(&(mut left)) = pattern.first() else {
        return vec![line.to_vec()];
    };
    let (mut pieces, mut piece) = (Vec::new(), Vec::from_iter(line.first().copied()));
    let (mut index, mut drawing) = (0, true);
    for pair in line.windows(2) {
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]].map(|(x, y)| (f64::from(x), f64::from(y)));
        let length = libm::sqrt((x1 - x0) * (x1 - x0) + (y1 - y0) * (y1 - y0));
        let mut done = 0.0;
        while length - done > left {
            done += left;
            let part = done / length;
            let turn = (
                libm::round(x0 + (x1 - x0) * part) as i32,
                libm::round(y0 + (y1 - y0) * part) as i32,
            );
            piece.push(turn);
            let finished = core::mem::replace(&mut piece, vec![turn]);
            if drawing {
                pieces.push(finished);
            }
            drawing = !drawing;
            index = (index + 1) % pattern.len();
            left = pattern[index].max(1.0);
        }
        left -= length - done;
        piece.push(pair[1]);
    }
    if drawing {
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the relative luminance of WCAG 2.2.
    fn luminance(RGBColor(red, green, blue): RGBColor) -> f64 {
        let linear = |part: u8| match f64::from(part) / 255.0 {
            part if part <= 0.040_45 => part / 12.92,
            part => libm::pow((part + 0.055) / 1.055, 2.4),
        };
        0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
    }

    #[test]
    fn lines_are_seen_on_white_and_on_dark() {
        // The background of a dark page in page.css.
        let dark = RGBColor(0x1b, 0x1f, 0x24);
        for colour in COLOURS.into_iter().filter(|&colour| colour != INK) {
            for paper in [PAPER, dark] {
                let (a, b) = (luminance(colour), luminance(paper));
                let contrast = (a.max(b) + 0.05) / (a.min(b) + 0.05);
                assert!(contrast >= 3.0, "{colour:?} on {paper:?}: {contrast}");
            }
        }
    }

    /// Checks that `python/whyloss/plot.py` draws causes as pages do.
    #[test]
    fn python_has_the_same_colours_shapes_and_words() {
        use crate::outcome::{CAUSES, word};
        let plot = include_str!("../../../../../python/whyloss/plot.py");
        let matplotlib = |shape| match shape {
            Sign::SQUARE => "s",
            Sign::TRIANGLE => "^",
            Sign::CROSS => "X",
            other => panic!("no shape of a cause: {other}"),
        };
        for cause in CAUSES {
            let (word, sign) = (word(cause), Sign::of_loss(Some(cause), Some(cause)));
            let (colour, shape) = (hex(Style::of(sign).colour), matplotlib(sign.shape));
            let line = format!("    \"{word}\": (\"{colour}\", \"{shape}\"),\n");
            assert!(plot.contains(&line), "{line}");
        }
        let unasked = matplotlib(Sign::shape_of(None));
        assert!(plot.contains(&format!("NOT_ASKED = \"{unasked}\"\n")));
    }

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

    #[test]
    fn dashes_turn_corners() {
        let line = [(0, 0), (10, 0), (10, 10)];
        assert_eq!(
            dashes(&line, &[6.0, 2.0]),
            [
                vec![(0, 0), (6, 0)],
                vec![(8, 0), (10, 0), (10, 4)],
                vec![(10, 6), (10, 10)]
            ]
        );
        assert_eq!(dashes(&line, &[]), [line.to_vec()]);
        assert!(dashes(&[], &[6.0, 2.0]).iter().all(Vec::is_empty));
    }
}
