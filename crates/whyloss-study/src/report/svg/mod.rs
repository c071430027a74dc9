//! Draws a figure as SVG: panels in two columns and one legend outside the data.
//!
//! Sizes keep a figure legible at the width of a text column. Series with the same name look the
//! same in every panel. Whiskers are 95 % confidence intervals. Drawing uses tenths of a pixel,
//! because the library takes only whole coordinates. Similar shapes are drawn together, so that
//! they merge into one path.

pub(super) mod axis;
mod style;
mod tighten;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::FontTransform;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use axis::Axis;
use style::Style;
pub use style::colour;
pub(super) use style::{GRID, INK, PAPER, hex};

use super::page::escape;
use crate::{Figure, Look, Panel, Series, Sign};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// The number of drawing units per pixel.
const UNITS: i32 = 10;
/// The size of a panel next to another, and of a figure's only panel, in pixels.
const PANEL: (i32, i32) = (340, 280);
const LONE_PANEL: (i32, i32) = (480, 330);
/// The distances from the panel's edges to the axes, in pixels: `[left, top, right, bottom]`.
const MARGINS: [i32; 4] = [66, 30, 14, 52];
const FAMILY: &str = "Helvetica, Arial, sans-serif";
const TEXT: i32 = 13;
const LEGEND_LINE: i32 = 22;
const LEGEND_SAMPLE: i32 = 42;
const LEGEND_GAP: i32 = 20;
const LINE: i32 = 17; // tenths of a pixel
/// The radius of a marker, in pixels.
const MARKER: f64 = 3.6;
/// The approximate number of markers on a line with at least five times as many points.
const MARKED: usize = 10;
const CAP: i32 = 3;
/// The opacity of bands, from 0 to 1.
const BAND: f64 = 0.22;

/// Renders the figure as a standalone SVG document that may also be inlined in HTML.
pub fn render(figure: &Figure) -> String {
    let legend = Legend::new(figure);
    let layout = Layout::new(figure.panels.len(), &legend);
    let (width, height) = layout.size;
    let mut svg = String::new();
    {
        let size = ((width * UNITS) as u32, (height * UNITS) as u32);
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        // Drawing into memory cannot fail; a panel that cannot be drawn stays empty.
        let _ = draw(&root, figure, &legend, &layout);
    }
    let old = format!(
        "<svg width=\"{}\" height=\"{}\"",
        width * UNITS,
        height * UNITS
    );
    let inherited = [
        format!("font-family=\"{FAMILY}\""),
        format!("font-size=\"{}\"", TEXT * UNITS),
    ];
    let inherited = inherited.each_ref().map(String::as_str);
    let name = escape(&figure.name);
    let new = format!(
        "<svg width=\"{width}\" height=\"{height}\" role=\"img\" aria-labelledby=\"{name}-title {name}-desc\" {}",
        inherited.join(" ")
    );
    let svg = tighten::tighten(&svg, &inherited).replacen(&old, &new, 1);
    // Insert the title and description after the opening tag.
    let Some(opened) = svg.find('>') else {
        return svg;
    };
    let (open, rest) = svg.split_at(opened + 1);
    let (title, seen) = (escape(&figure.caption), escape(&description(figure)));
    format!(
        "{open}\n<title id=\"{name}-title\">{title}</title>\n<desc id=\"{name}-desc\">{seen}</desc>{rest}"
    )
}

/// Describes the figure in words: its panels, their axes and series.
fn description(figure: &Figure) -> String {
    let panel = |panel: &Panel| {
        let names: Vec<&str> = panel.series.iter().map(|s| s.name.as_str()).collect();
        let title = if panel.title.is_empty() {
            "Panel"
        } else {
            &panel.title
        };
        format!(
            "{title}: {} over {}; {}.",
            panel.y_label,
            panel.x_label,
            names.join(", ")
        )
    };
    let panels: Vec<String> = figure.panels.iter().map(panel).collect();
    panels.join(" ")
}

fn draw(root: &Area<'_>, figure: &Figure, legend: &Legend<'_>, layout: &Layout) -> Drawn {
    root.fill(&PAPER)?;
    let shared = axis::shared(figure);
    for (panel, origin) in figure.panels.iter().zip(&layout.panels) {
        let x = axis::x(panel, shared);
        draw_panel(root, panel, &x, *origin, layout.panel, legend)?;
    }
    legend.draw(root, layout)?;
    root.present()
}

/// Holds the positions of panels and legend, in pixels.
struct Layout {
    size: (i32, i32),
    panel: (i32, i32),
    panels: Vec<(i32, i32)>,
    legend: (i32, i32),
    legend_width: i32,
}

impl Layout {
    /// Arranges panels in two columns. The legend fills the cell that an odd number of panels
    /// leaves free, or else a strip below.
    fn new(panels: usize, legend: &Legend<'_>) -> Self {
        let panel = if panels > 1 { PANEL } else { LONE_PANEL };
        let columns = if panels > 1 { 2 } else { 1 };
        let origins: Vec<_> = (0..panels as i32)
            .map(|index| (index % columns * panel.0, index / columns * panel.1))
            .collect();
        let rows = (panels as i32 + columns - 1) / columns;
        let (width, below) = (columns * panel.0, rows * panel.1);
        if panels > 1 && panels % 2 == 1 && legend.height(panel.0 - 2 * MARGINS[2]) <= panel.1 {
            return Self {
                size: (width, below),
                panel,
                panels: origins,
                legend: (panel.0 + MARGINS[0], below - panel.1 + MARGINS[1]),
                legend_width: panel.0 - MARGINS[0] - MARGINS[2],
            };
        }
        let legend_width = width - 2 * MARGINS[2];
        Self {
            size: (width, below + legend.height(legend_width) + MARGINS[2]),
            panel,
            panels: origins,
            legend: (MARGINS[2], below + MARGINS[2] / 2),
            legend_width,
        }
    }
}

/// Provides a figure's colours and shapes to charts next to its picture.
pub(super) struct Colours<'a>(Legend<'a>);

impl<'a> Colours<'a> {
    pub(super) fn new(figure: &'a Figure) -> Self {
        Self(Legend::new(figure))
    }

    /// Returns a series' colour for web pages; `ink` is the text's colour.
    pub(super) fn of(&self, series: &Series) -> String {
        match self.0.style(&series.name).map_or(INK, |style| style.colour) {
            INK => "ink".into(),
            colour => hex(colour),
        }
    }

    /// Returns a marker's corners, turn and two radii, as [`style`] defines them, and whether it is
    /// an outline.
    pub(super) fn marker(&self, series: &Series) -> ((u32, f64, f64, f64), bool) {
        let style = self.0.style(&series.name).unwrap_or(Style::new(0, None));
        (style.marker, style.hollow)
    }
}

/// Lists the series of all panels, each name once.
struct Legend<'a> {
    entries: Vec<(&'a Series, Style)>,
    /// Whether there are signs; lines then lose their markers and use other colours, to stay
    /// distinct.
    signs: bool,
}

impl<'a> Legend<'a> {
    fn new(figure: &'a Figure) -> Self {
        let mut entries: Vec<(&Series, Style)> = Vec::new();
        let mut series = figure.panels.iter().flat_map(|panel| &panel.series);
        let signs = series
            .any(|series| matches!(series.look, Look::Signs(sign) if sign.colour < Sign::INK));
        let (mut others, mut dashed) = (if signs { Sign::INK } else { 0 }, 0);
        for series in figure.panels.iter().flat_map(|panel| &panel.series) {
            if entries.iter().all(|(known, _)| known.name != series.name) {
                let style = if let Look::Signs(sign) = series.look {
                    Style::of(sign)
                } else {
                    let is_dashed = series.look == Look::Dashed;
                    let style = Style::new(others, is_dashed.then_some(dashed));
                    others += 1;
                    dashed += usize::from(is_dashed);
                    style
                };
                entries.push((series, style));
            }
        }
        Self { entries, signs }
    }

    fn style(&self, name: &str) -> Option<Style> {
        let entry = self.entries.iter().find(|(series, _)| series.name == name);
        entry.map(|(_, style)| *style)
    }

    /// Returns the entries. A lone series has none, because the axis names it.
    fn entries(&self) -> &[(&'a Series, Style)] {
        if self.entries.len() > 1 {
            &self.entries
        } else {
            &[]
        }
    }

    fn column_width(&self) -> i32 {
        let widest = self
            .entries
            .iter()
            .map(|(series, _)| text_width(&series.name));
        LEGEND_SAMPLE + 8 + widest.max().unwrap_or(0) + LEGEND_GAP
    }

    fn columns(&self, width: i32) -> i32 {
        ((width + LEGEND_GAP) / self.column_width()).clamp(1, self.entries.len().max(1) as i32)
    }

    fn height(&self, width: i32) -> i32 {
        let columns = self.columns(width);
        (self.entries().len() as i32 + columns - 1) / columns * LEGEND_LINE
    }

    fn draw(&self, root: &Area<'_>, layout: &Layout) -> Drawn {
        let columns = self.columns(layout.legend_width);
        // Centre a strip below the panels; align a cell next to them to its left edge.
        let used = columns * self.column_width() - LEGEND_GAP;
        let left = if layout.legend.0 > MARGINS[0] {
            layout.legend.0
        } else {
            layout.legend.0 + (layout.legend_width - used) / 2
        };
        for (index, (series, style)) in self.entries().iter().enumerate() {
            let (row, column) = (index as i32 / columns, index as i32 % columns);
            let x = left + column * self.column_width();
            let y = layout.legend.1 + row * LEGEND_LINE + LEGEND_LINE / 2;
            let (start, end) = (scaled((x, y)), scaled((x + LEGEND_SAMPLE, y)));
            let middle = x + LEGEND_SAMPLE / 2;
            match series.look {
                Look::Bars => {
                    let sample = [scaled((x + 29, y - 6)), scaled((x + 41, y + 6))];
                    draw_bar(root, sample, *style)?;
                }
                Look::Band => draw_band(root, &[(start, -6 * UNITS), (end, -6 * UNITS)], *style)?,
                Look::Marks => {
                    let ends = [scaled((middle, y - 7)), scaled((middle, y + 7))];
                    draw_line(root, &ends, *style)?;
                }
                Look::Line | Look::Dashed | Look::Points | Look::Signs(_) => {
                    let line = matches!(series.look, Look::Line | Look::Dashed);
                    if line {
                        draw_line(root, &[start, end], *style)?;
                    }
                    if !(line && self.signs) {
                        draw_markers(root, &[scaled((middle, y))], *style)?;
                    }
                }
            }
            let text = text_style(TEXT, HPos::Left, VPos::Center);
            root.draw_text(&series.name, &text, scaled((x + LEGEND_SAMPLE + 8, y)))?;
        }
        Ok(())
    }
}

/// Maps data to drawing units within one panel.
struct Frame<'a> {
    x: &'a Axis,
    y: &'a Axis,
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
}

impl Frame<'_> {
    /// Maps x data to a horizontal position.
    fn across(&self, x: f64) -> i32 {
        let part = (x - self.x.start) / (self.x.end - self.x.start);
        self.left + libm::round(part * f64::from(self.right - self.left)) as i32
    }

    /// Maps a y coordinate to a vertical position, clamped to the panel.
    fn up(&self, place: f64) -> i32 {
        let part = (place - self.y.start) / (self.y.end - self.y.start);
        self.bottom - libm::round(part.clamp(0.0, 1.0) * f64::from(self.bottom - self.top)) as i32
    }

    /// Maps the end of a whisker. A value without a logarithm maps to the lower edge.
    fn end(&self, value: f64) -> i32 {
        self.y
            .place(value)
            .map_or(self.bottom, |place| self.up(place))
    }

    /// Maps a point and the ends of its interval; `None` if it cannot be drawn.
    fn point(&self, (x, y, half_width): (f64, f64, Option<f64>)) -> Option<Point> {
        let place = self.y.place(y)?;
        Some(Point {
            at: (self.across(self.x.place(x)?), self.up(place)),
            interval: half_width
                .filter(|half| half.is_finite())
                .map(|half| (self.end(y - half), self.end(y + half))),
        })
    }
}

struct Point {
    at: (i32, i32),
    interval: Option<(i32, i32)>,
}

fn draw_panel(
    root: &Area<'_>,
    panel: &Panel,
    x: &Axis,
    origin: (i32, i32),
    size: (i32, i32),
    legend: &Legend<'_>,
) -> Drawn {
    let y = axis::y(panel);
    let (left, top) = scaled((origin.0 + MARGINS[0], origin.1 + MARGINS[1]));
    let (right, bottom) = scaled((
        origin.0 + size.0 - MARGINS[2],
        origin.1 + size.1 - MARGINS[3],
    ));
    let frame = Frame {
        x,
        y: &y,
        left,
        right,
        top,
        bottom,
    };
    draw_axes(root, panel, &frame)?;
    // Draw areas first, so that they hide no line.
    let drawn = |look: Look| {
        let series = panel.series.iter().filter(move |s| s.look == look);
        series.filter_map(|series| Some((series, legend.style(&series.name)?)))
    };
    for (series, style) in drawn(Look::Band) {
        for piece in series.points.split(|(_, y, _)| y.is_nan()) {
            let ends = piece.iter().filter_map(|&(x, y, half)| {
                let high = frame.point((x, y + half.unwrap_or(0.0), None))?.at;
                let low = frame.point((x, y - half.unwrap_or(0.0), None))?.at;
                Some((low, high.1 - low.1))
            });
            draw_band(root, &ends.collect::<Vec<_>>(), style)?;
        }
    }
    for (series, style) in drawn(Look::Marks) {
        for x in series.points.iter().filter_map(|point| x.place(point.0)) {
            let x = frame.across(x);
            draw_line(root, &[(x, frame.top), (x, frame.bottom)], style)?;
        }
    }
    draw_bars(root, panel, &frame, legend)?;
    let is_sign = |series: &&Series| matches!(series.look, Look::Signs(_));
    let is_line =
        |series: &&Series| matches!(series.look, Look::Line | Look::Dashed | Look::Points);
    let lines = panel.series.iter().filter(is_line);
    for series in lines.chain(panel.series.iter().filter(is_sign)) {
        if let Some(style) = legend.style(&series.name) {
            draw_series(root, series, &frame, style, legend.signs)?;
        }
    }
    Ok(())
}

fn draw_axes(root: &Area<'_>, panel: &Panel, frame: &Frame<'_>) -> Drawn {
    let (left, right, top, bottom) = (frame.left, frame.right, frame.top, frame.bottom);
    let ink = INK.stroke_width(UNITS as u32);
    let grid = GRID.stroke_width(UNITS as u32);
    let tick = 4 * UNITS;
    for y in frame.y.ticks.iter().map(|&place| frame.up(place)) {
        root.draw(&PathElement::new([(left, y), (right, y)], grid))?;
    }
    for y in frame.y.ticks.iter().map(|&place| frame.up(place)) {
        root.draw(&PathElement::new([(left - tick, y), (left, y)], ink))?;
    }
    for x in frame.x.ticks.iter().map(|&place| frame.across(place)) {
        root.draw(&PathElement::new([(x, bottom), (x, bottom + tick)], ink))?;
    }
    let corner = [(left, top), (left, bottom), (right, bottom)];
    root.draw(&PathElement::new(corner, ink))?;
    for &place in &frame.y.ticks {
        let at = (left - 2 * tick + 10, frame.up(place));
        let text = text_style(TEXT, HPos::Right, VPos::Center);
        root.draw_text(&frame.y.label(place), &text, at)?;
    }
    for &place in &frame.x.ticks {
        let at = (frame.across(place), bottom + 2 * tick - 10);
        let text = text_style(TEXT, HPos::Center, VPos::Top);
        root.draw_text(&frame.x.label(place), &text, at)?;
    }

    let title = text_style(TEXT + 1, HPos::Left, VPos::Bottom);
    let title = TextStyle {
        font: title.font.style(FontStyle::Bold),
        ..title
    };
    root.draw_text(&panel.title, &title, (left, top - 6 * UNITS))?;
    let below = text_style(TEXT, HPos::Center, VPos::Top);
    let under_labels = bottom + (TEXT + 12) * UNITS;
    root.draw_text(
        &panel.x_label,
        &below,
        (i32::midpoint(left, right), under_labels),
    )?;
    let beside = text_style(TEXT, HPos::Center, VPos::Top).transform(FontTransform::Rotate270);
    let labels = frame
        .y
        .ticks
        .iter()
        .map(|&place| text_width(&frame.y.label(place)));
    let room = (labels.max().unwrap_or(0) + 26).min(MARGINS[0] - 2);
    let edge = left - room * UNITS;
    root.draw_text(&panel.y_label, &beside, (edge, i32::midpoint(top, bottom)))
}

/// Draws the bars of all bar series, side by side around each x.
fn draw_bars(root: &Area<'_>, panel: &Panel, frame: &Frame<'_>, legend: &Legend<'_>) -> Drawn {
    let bars: Vec<_> = panel
        .series
        .iter()
        .filter(|s| s.look == Look::Bars)
        .collect();
    let mut places: Vec<i32> = bars
        .iter()
        .flat_map(|series| &series.points)
        .filter_map(|point| frame.point(*point))
        .map(|point| point.at.0)
        .collect();
    places.sort_unstable();
    places.dedup();
    let gap = places.windows(2).map(|pair| pair[1] - pair[0]).min();
    let group = gap.unwrap_or(frame.right - frame.left).min(80 * UNITS) * 4 / 5;
    let zero = if frame.y.start <= 0.0 && frame.y.end >= 0.0 {
        frame.end(0.0)
    } else {
        frame.bottom
    };
    for (index, series) in bars.iter().enumerate() {
        let Some(style) = legend.style(&series.name) else {
            continue;
        };
        let count = bars.len() as i32;
        let offset = |edge: usize| group * edge as i32 / count - group / 2;
        for point in series.points.iter().filter_map(|point| frame.point(*point)) {
            let (x, y) = point.at;
            let (left, right) = (x + offset(index), x + offset(index + 1) - UNITS / 2);
            let corners = [(left, y.min(zero)), (right, y.max(zero))];
            draw_bar(root, corners, style)?;
            if let Some(interval) = point.interval {
                draw_interval(root, i32::midpoint(left, right), interval, INK)?;
            }
        }
    }
    Ok(())
}

/// Draws a series. Its line gets no markers if they could be mistaken for signs.
fn draw_series(
    root: &Area<'_>,
    series: &Series,
    frame: &Frame<'_>,
    style: Style,
    signs: bool,
) -> Drawn {
    let points: Vec<Option<Point>> = series.points.iter().map(|p| frame.point(*p)).collect();
    // A missing value breaks the line.
    let is_cloud = matches!(series.look, Look::Points | Look::Signs(_));
    for run in points.split(Option::is_none).filter(|_| !is_cloud) {
        let line: Vec<_> = run.iter().flatten().map(|point| point.at).collect();
        draw_line(root, &line, style)?;
    }
    for point in points.iter().flatten() {
        if let Some(interval) = point.interval {
            draw_interval(root, point.at.0, interval, style.colour)?;
        }
    }
    if signs && !is_cloud {
        return Ok(());
    }
    // A marker on every point would hide a long line.
    let every = if is_cloud || points.len() < 5 * MARKED {
        1
    } else {
        points.len() / MARKED
    };
    let marked = points.iter().flatten().skip(every / 2).step_by(every);
    let places: Vec<_> = marked.map(|point| point.at).collect();
    draw_markers(root, &places, style)
}

fn draw_line(root: &Area<'_>, line: &[(i32, i32)], style: Style) -> Drawn {
    let pattern: Vec<f64> = style
        .dash
        .iter()
        .map(|length| length * f64::from(UNITS))
        .collect();
    for piece in style::dashes(line, &pattern) {
        if piece.len() > 1 {
            root.draw(&PathElement::new(
                piece,
                style.colour.stroke_width(LINE as u32),
            ))?;
        }
    }
    Ok(())
}

/// Draws a tint from each place to the height above it; a negative height goes up.
fn draw_band(root: &Area<'_>, ends: &[((i32, i32), i32)], style: Style) -> Drawn {
    let low = ends.iter().map(|&(low, _)| low);
    let high = ends.iter().rev().map(|&((x, y), above)| (x, y + above));
    let outline: Vec<_> = low.chain(high).collect();
    if outline.len() < 4 {
        return Ok(());
    }
    root.draw(&Polygon::new(outline, style.colour.mix(BAND).filled()))
}

/// Draws markers with a thin rim that separates them from the lines below.
fn draw_markers(root: &Area<'_>, places: &[(i32, i32)], style: Style) -> Drawn {
    let radius = MARKER * f64::from(UNITS);
    let rings = [(1.25, PAPER), (1.0, style.colour), (0.55, PAPER)];
    let rings = &rings[..if style.hollow { 3 } else { 2 }];
    for &(part, colour) in rings {
        for &place in places {
            let outline = style.marker(place, radius * part);
            root.draw(&Polygon::new(outline, colour.filled()))?;
        }
    }
    Ok(())
}

/// Draws a tinted bar with a solid outline, so that neighbours also differ in grey.
fn draw_bar(root: &Area<'_>, corners: [(i32, i32); 2], style: Style) -> Drawn {
    let [(left, top), (right, bottom)] = corners;
    // The bar covers the grid.
    root.draw(&Rectangle::new(corners, PAPER.filled()))?;
    root.draw(&Rectangle::new(
        corners,
        style.colour.mix(style.tint).filled(),
    ))?;
    let outline = [
        (left, bottom),
        (left, top),
        (right, top),
        (right, bottom),
        (left, bottom),
    ];
    root.draw(&PathElement::new(
        outline,
        style.colour.stroke_width(UNITS as u32),
    ))
}

fn draw_interval(root: &Area<'_>, x: i32, (low, high): (i32, i32), colour: RGBColor) -> Drawn {
    let stroke = colour.stroke_width(UNITS as u32);
    let cap = CAP * UNITS;
    root.draw(&PathElement::new([(x, low), (x, high)], stroke))?;
    root.draw(&PathElement::new([(x - cap, low), (x + cap, low)], stroke))?;
    root.draw(&PathElement::new(
        [(x - cap, high), (x + cap, high)],
        stroke,
    ))
}

fn text_style(size: i32, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
    // The library divides sizes by 1.24 when it writes SVG.
    let size = f64::from(size * UNITS) * 1.24;
    (FAMILY, size)
        .into_font()
        .color(&INK)
        .pos(Pos::new(horizontal, vertical))
}

/// Estimates the width in pixels; no font is available to measure with.
fn text_width(text: &str) -> i32 {
    text.chars().count() as i32 * TEXT * 57 / 100
}

fn scaled((x, y): (i32, i32)) -> (i32, i32) {
    (x * UNITS, y * UNITS)
}

#[cfg(test)]
mod tests;
