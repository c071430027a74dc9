//! Shortens the library's SVG: similar consecutive shapes become one path.
//!
//! ```text
//! consecutive polylines or polygons with the same attributes   →  one path, relative from the
//!                                                                 second point of each shape
//! opacity="1", and the font that the document states           →  nothing
//! ```
//!
//! Anything else stays as it is. A figure shrinks to a third, which matters on a page of dozens.

use core::fmt::Write;

/// Rewrites `svg`. `inherited` lists attributes, as written, that the root already has.
pub(super) fn tighten(svg: &str, inherited: &[&str]) -> String {
    let mut tight = String::with_capacity(svg.len() / 3);
    let mut path: Option<(String, String)> = None;
    let mut in_text = false;
    for line in svg.lines() {
        let shape = Shape::parse(line).map(|shape| {
            let attributes = without(shape.attributes, inherited);
            (shape, attributes)
        });
        if let Some((shape, attributes)) = shape {
            match &mut path {
                Some((same, data)) if *same == attributes => shape.write(data),
                _ => {
                    finish(&mut tight, path.take());
                    let mut data = String::new();
                    shape.write(&mut data);
                    path = Some((attributes, data));
                }
            }
            continue;
        }
        finish(&mut tight, path.take());
        if line.starts_with("<text ") {
            in_text = true;
        }
        // Text stays as it is, on the line of its element.
        if line.starts_with('<') && !line.starts_with("<svg") {
            tight.push_str(&without(line, inherited));
        } else {
            tight.push_str(line);
        }
        in_text &= line != "</text>";
        if !in_text {
            tight.push('\n');
        }
    }
    finish(&mut tight, path);
    tight
}

fn finish(tight: &mut String, path: Option<(String, String)>) {
    if let Some((attributes, data)) = path {
        let _ = writeln!(tight, "<path{attributes} d=\"{data}\"/>");
    }
}

fn without(text: &str, inherited: &[&str]) -> String {
    let mut text = text.replace(" opacity=\"1\"", "");
    for attribute in inherited {
        text = text.replace(&format!(" {attribute}"), "");
    }
    text
}

/// An opaque polyline or polygon, which can merge with the next.
struct Shape<'a> {
    /// Attributes, each with its leading space.
    attributes: &'a str,
    points: Vec<(i32, i32)>,
    closed: bool,
}

impl<'a> Shape<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (closed, rest) = match line.strip_prefix("<polyline") {
            Some(rest) => (false, rest),
            None => (true, line.strip_prefix("<polygon")?),
        };
        let (attributes, points) = rest.strip_suffix("\"/>")?.split_once(" points=\"")?;
        let point = |text: &str| {
            let (x, y) = text.split_once(',')?;
            Some((x.parse().ok()?, y.parse().ok()?))
        };
        let points: Option<Vec<_>> = points.split_whitespace().map(point).collect();
        let opaque = attributes.contains(" opacity=\"1\"");
        Some(Self {
            attributes,
            points: points.filter(|points| opaque && !points.is_empty())?,
            closed,
        })
    }

    /// Appends path data: M x y, then h dx, v dy or l dx dy.
    fn write(&self, data: &mut String) {
        let (x, y) = self.points[0];
        let _ = write!(data, "M{x}");
        more(data, y);
        for pair in self.points.windows(2) {
            let (dx, dy) = (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1);
            let _ = match (dx, dy) {
                (dx, 0) => write!(data, "h{dx}"),
                (0, dy) => write!(data, "v{dy}"),
                (dx, _) => write!(data, "l{dx}"),
            };
            if dx != 0 && dy != 0 {
                more(data, dy);
            }
        }
        if self.closed {
            data.push('z');
        }
    }
}

/// Appends a number; a minus sign separates it as well as a space does.
fn more(data: &mut String, number: i32) {
    let space = if number < 0 { "" } else { " " };
    let _ = write!(data, "{space}{number}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_alike_is_one_path() {
        let line = |points| {
            format!(
                "<polyline fill=\"none\" opacity=\"1\" stroke=\"#000000\" points=\"{points} \"/>\n"
            )
        };
        let svg = line("1,2 4,2")
            + &line("0,0 0,5 3,1")
            + "<polygon opacity=\"1\" points=\"0,0 2,2\"/>\n";
        assert_eq!(
            tighten(&svg, &[]),
            "<path fill=\"none\" stroke=\"#000000\" d=\"M1 2h3M0 0v5l3-4\"/>\n<path d=\"M0 0l2 2z\"/>\n"
        );
    }

    #[test]
    fn what_shows_through_or_is_not_understood_stays() {
        let svg = "<polyline opacity=\"0.5\" points=\"1,2 3,4\"/>\n<polygon opacity=\"1\" points=\"1.5,2\"/>\n";
        assert_eq!(tighten(svg, &[]), svg.replace(" opacity=\"1\"", ""));
    }

    #[test]
    fn words_are_left_alone() {
        let svg = "<text x=\"1\" font-size=\"130\" opacity=\"1\">\na opacity=\"1\" font-size=\"130\"\n</text>\n";
        assert_eq!(
            tighten(svg, &["font-size=\"130\""]),
            "<text x=\"1\">a opacity=\"1\" font-size=\"130\"</text>\n"
        );
    }
}
