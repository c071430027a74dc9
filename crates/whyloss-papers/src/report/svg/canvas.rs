//! SVG as text: groups, paths and words, and nothing that the pictures here do not need.
//!
//! ```text
//! coordinates  whole tenths of a pixel, so that the same picture is the same bytes and carries no needless digit
//! paths        absolute where they begin, relative from there on: m x y, then h dx, v dy, l dx dy, or z
//! ```

use core::fmt::Write;

/// As SVG has it: `#RRGGBB`.
pub(crate) type Colour = &'static str;

/// Tenths of a pixel.
pub(super) type Place = (i32, i32);

/// A picture that is being drawn.
pub(super) struct Canvas(String);

impl Canvas {
    /// `size` is in pixels.
    pub(super) fn new((width, height): (i32, i32)) -> Self {
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\">\n"
        ))
    }

    /// The document.
    pub(super) fn finish(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }

    /// What `draw` draws, with `attributes` for all of it.
    pub(super) fn group(&mut self, attributes: &str, draw: impl FnOnce(&mut Self)) {
        let _ = writeln!(self.0, "<g {attributes}>");
        draw(self);
        self.0.push_str("</g>\n");
    }

    /// Nothing, if the path is empty.
    pub(super) fn path(&mut self, path: &Path, attributes: &str) {
        if !path.data.is_empty() {
            let _ = writeln!(self.0, "<path {attributes} d=\"{}\"/>", path.data);
        }
    }

    /// Words from `place` on along the base line, or as `attributes` have it.
    pub(super) fn words(&mut self, words: &str, (x, y): Place, attributes: &str) {
        let (x, y) = (tenths(x), tenths(y));
        let space = if attributes.is_empty() { "" } else { " " };
        let _ = write!(self.0, "<text x=\"{x}\" y=\"{y}\"{space}{attributes}>");
        for c in words.chars() {
            match c {
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '&' => self.0.push_str("&amp;"),
                c => self.0.push(c),
            }
        }
        self.0.push_str("</text>\n");
    }
}

/// Lines and outlines that are drawn alike.
#[derive(Default)]
pub(super) struct Path {
    data: String,
    at: Place,
}

impl Path {
    /// A line through `places`.
    pub(super) fn line(&mut self, places: impl IntoIterator<Item = Place>) {
        let mut places = places.into_iter();
        let Some(first) = places.next() else { return };
        self.number('M', first.0);
        self.more(first.1);
        self.at = first;
        for place in places {
            let (dx, dy) = (place.0 - self.at.0, place.1 - self.at.1);
            if dy == 0 {
                self.number('h', dx);
            } else if dx == 0 {
                self.number('v', dy);
            } else {
                self.number('l', dx);
                self.more(dy);
            }
            self.at = place;
        }
    }

    /// The outline with `corners`.
    pub(super) fn outline(&mut self, corners: impl IntoIterator<Item = Place>) {
        self.line(corners);
        self.data.push('z');
    }

    /// The rectangle between two opposite corners.
    pub(super) fn rectangle(&mut self, [(left, top), (right, bottom)]: [Place; 2]) {
        self.outline([(left, top), (right, top), (right, bottom), (left, bottom)]);
    }

    /// A disc: two half circles.
    pub(super) fn disc(&mut self, (x, y): Place, radius: i32) {
        let r = tenths(radius);
        self.line([(x - radius, y)]);
        for across in [2 * radius, -2 * radius] {
            let _ = write!(self.data, "a{r} {r} 0 0 1 {} 0", tenths(across));
        }
        self.data.push('z');
    }

    fn number(&mut self, command: char, number: i32) {
        self.data.push(command);
        self.data.push_str(&tenths(number));
    }

    /// The number after a number: a minus sign parts them as well as a space does.
    fn more(&mut self, number: i32) {
        if number >= 0 {
            self.data.push(' ');
        }
        self.data.push_str(&tenths(number));
    }
}

/// Tenths as a decimal number without needless zeros: 1.5, .5, 0, -2.
pub(super) fn tenths(tenths: i32) -> String {
    let sign = if tenths < 0 { "-" } else { "" };
    match (tenths.unsigned_abs() / 10, tenths.unsigned_abs() % 10) {
        (whole, 0) => format!("{sign}{whole}"),
        (0, tenth) => format!("{sign}.{tenth}"),
        (whole, tenth) => format!("{sign}{whole}.{tenth}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let texts = [0, 5, -5, 10, -20, 123, -1999].map(tenths);
        assert_eq!(texts, ["0", ".5", "-.5", "1", "-2", "12.3", "-199.9"]);
    }

    #[test]
    fn paths_by_hand() {
        let mut path = Path::default();
        path.line([(10, 20), (40, 20), (40, 5), (45, 0), (55, 13)]);
        path.line([]);
        path.rectangle([(0, 0), (30, 10)]);
        path.disc((100, 100), 36);
        assert_eq!(
            path.data,
            "M1 2h3v-1.5l.5-.5l1 1.3M0 0h3v1h-3zM6.4 10a3.6 3.6 0 0 1 7.2 0a3.6 3.6 0 0 1 -7.2 0z"
        );
    }

    #[test]
    fn words_are_escaped() {
        let mut canvas = Canvas::new((10, 10));
        canvas.group("fill=\"#000000\"", |canvas| {
            canvas.words("a < b & c", (0, 0), "");
        });
        canvas.path(&Path::default(), "");
        let svg = canvas.finish();
        let document = roxmltree::Document::parse(&svg).expect("well-formed");
        let words = document.descendants().find_map(|node| node.text());
        assert!(svg.contains("a &lt; b &amp; c") && words.is_some());
        assert!(!svg.contains("<path"));
    }
}
