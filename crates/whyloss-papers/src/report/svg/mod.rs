//! A figure as SVG: panels in two columns, one legend for all of them outside the data.
//!
//! Sizes are chosen so that a figure set as wide as a text column can still be read. A series of the same name looks
//! the same in every panel. Whiskers are 95 % confidence intervals.
//!
//! What is drawn alike is one element (all grid lines of a panel, all markers of a series), so that a figure is some
//! ten kilobytes and a page may hold dozens.

mod axis;
mod canvas;
mod style;

use axis::Axis;
use canvas::{Canvas, Path, Place, tenths};
use style::Style;
pub(super) use style::{GRID, INK, PAPER};

use crate::{Figure, Panel, Series};

/// Coordinates count tenths of a pixel.
const PIXEL: i32 = 10;
/// A panel beside another, and one that has the figure for itself.
const PANEL: (i32, i32) = (340, 280);
const LONE_PANEL: (i32, i32) = (480, 330);
/// From the panel's edges to the axes: left, top, right, bottom.
const MARGINS: [i32; 4] = [66, 30, 14, 52];
const TEXT: i32 = 13;
const LEGEND_LINE: i32 = 22;
const LEGEND_SAMPLE: i32 = 42;
const LEGEND_GAP: i32 = 20;
const LINE: &str = "1.7";
// Tenths of a pixel.
const MARKER: i32 = 36;
/// The rim of paper that parts a marker from the lines it lies on: half of its stroke lies below the marker.
const RIM: &str = "1.8";
const CAP: i32 = 30;

/// The figure as a document of its own, fit to be put inline into HTML as well.
pub fn render(figure: &Figure) -> String {
    let legend = Legend::new(figure);
    let layout = Layout::new(figure.panels.len(), &legend);
    let mut canvas = Canvas::new(layout.size);
    let mut ground = Path::default();
    ground.rectangle([(0, 0), scaled(layout.size)]);
    canvas.path(&ground, &format!("fill=\"{PAPER}\""));
    let attributes = format!(
        "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"{TEXT}\" fill=\"{INK}\" stroke-linejoin=\"round\""
    );
    canvas.group(&attributes, |canvas| {
        for (panel, origin) in figure.panels.iter().zip(&layout.panels) {
            draw_panel(canvas, panel, *origin, layout.panel, &legend);
        }
        legend.draw(canvas, &layout);
    });
    canvas.finish()
}

/// Where panels and legend go, in pixels.
struct Layout {
    size: (i32, i32),
    panel: (i32, i32),
    panels: Vec<(i32, i32)>,
    legend: (i32, i32),
    legend_width: i32,
}

impl Layout {
    /// Two columns; the legend takes the place that an odd number of panels leaves, else a strip below them.
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

/// The series of all panels, each name once.
struct Legend<'a> {
    entries: Vec<(&'a Series, Style)>,
}

impl<'a> Legend<'a> {
    fn new(figure: &'a Figure) -> Self {
        let mut entries: Vec<(&Series, Style)> = Vec::new();
        let mut dashed = 0;
        for series in figure.panels.iter().flat_map(|panel| &panel.series) {
            if entries.iter().all(|(known, _)| known.name != series.name) {
                let style = Style::new(entries.len(), series.dashed.then_some(dashed));
                dashed += usize::from(series.dashed);
                entries.push((series, style));
            }
        }
        Self { entries }
    }

    fn style(&self, name: &str) -> Option<Style> {
        let entry = self.entries.iter().find(|(series, _)| series.name == name);
        entry.map(|(_, style)| *style)
    }

    /// One series needs no legend if the axis already says what it is.
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

    fn draw(&self, canvas: &mut Canvas, layout: &Layout) {
        let columns = self.columns(layout.legend_width);
        // A strip below is centred; a cell beside the panels is read from its left edge.
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
            if series.bars {
                let sample = [scaled((x + 29, y - 6)), scaled((x + 41, y + 6))];
                draw_bars_alike(canvas, &[sample], *style);
            } else {
                let mut line = Path::default();
                line.line([scaled((x, y)), scaled((x + LEGEND_SAMPLE, y))]);
                draw_line(canvas, &line, *style);
                draw_markers(canvas, &[scaled((x + LEGEND_SAMPLE / 2, y))], *style);
            }
            let (x, y) = scaled((x + LEGEND_SAMPLE + 8, y));
            canvas.words(&series.name, (x, y + MIDDLE), "");
        }
    }
}

/// From a place to the base line of words whose middle, or whose upper edge, is to be there.
const MIDDLE: i32 = TEXT * 36 / 10;
const BELOW: i32 = TEXT * 76 / 10;

/// Data to coordinates, within one panel.
struct Frame<'a> {
    x: &'a Axis,
    y: &'a Axis,
    left: i32,
    right: i32,
    top: i32,
    bottom: i32,
}

impl Frame<'_> {
    /// Along the x axis, from data.
    fn across(&self, x: f64) -> i32 {
        let part = (x - self.x.start) / (self.x.end - self.x.start);
        self.left + libm::round(part * f64::from(self.right - self.left)) as i32
    }

    /// Along the y axis, from the axis' coordinate; what lies outside is put on the edge.
    fn up(&self, place: f64) -> i32 {
        let part = (place - self.y.start) / (self.y.end - self.y.start);
        self.bottom - libm::round(part.clamp(0.0, 1.0) * f64::from(self.bottom - self.top)) as i32
    }

    /// The end of a whisker; what has no logarithm is put on the lower edge.
    fn end(&self, value: f64) -> i32 {
        self.y
            .place(value)
            .map_or(self.bottom, |place| self.up(place))
    }

    /// A point in coordinates, with the ends of its interval; `None` if it cannot be drawn.
    fn point(&self, (x, y, ci95): (f64, f64, Option<f64>)) -> Option<Point> {
        let place = self.y.place(y)?;
        Some(Point {
            at: (self.across(self.x.place(x)?), self.up(place)),
            interval: ci95
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
    canvas: &mut Canvas,
    panel: &Panel,
    origin: (i32, i32),
    size: (i32, i32),
    legend: &Legend<'_>,
) {
    let (x, y) = (axis::x(panel), axis::y(panel));
    let (left, top) = scaled((origin.0 + MARGINS[0], origin.1 + MARGINS[1]));
    let (right, bottom) = scaled((
        origin.0 + size.0 - MARGINS[2],
        origin.1 + size.1 - MARGINS[3],
    ));
    let frame = Frame {
        x: &x,
        y: &y,
        left,
        right,
        top,
        bottom,
    };
    draw_axes(canvas, &frame);
    draw_titles(canvas, panel, &frame);
    // Bars first, so that no line hides behind them.
    draw_bars(canvas, panel, &frame, legend);
    for series in panel.series.iter().filter(|series| !series.bars) {
        if let Some(style) = legend.style(&series.name) {
            draw_series(canvas, series, &frame, style);
        }
    }
}

fn draw_axes(canvas: &mut Canvas, frame: &Frame<'_>) {
    let (left, right, top, bottom) = (frame.left, frame.right, frame.top, frame.bottom);
    let tick = 4 * PIXEL;
    let (mut grid, mut axes) = (Path::default(), Path::default());
    axes.line([(left, top), (left, bottom), (right, bottom)]);
    for y in frame.y.ticks.iter().map(|&place| frame.up(place)) {
        grid.line([(left, y), (right, y)]);
        axes.line([(left - tick, y), (left, y)]);
    }
    for x in frame.x.ticks.iter().map(|&place| frame.across(place)) {
        axes.line([(x, bottom), (x, bottom + tick)]);
    }
    canvas.path(&grid, &format!("stroke=\"{GRID}\""));
    canvas.path(&axes, &format!("fill=\"none\" stroke=\"{INK}\""));
    canvas.group("text-anchor=\"end\"", |canvas| {
        for &place in &frame.y.ticks {
            let at = (left - 2 * tick + PIXEL, frame.up(place) + MIDDLE);
            canvas.words(&frame.y.label(place), at, "");
        }
    });
    canvas.group("text-anchor=\"middle\"", |canvas| {
        for &place in &frame.x.ticks {
            let at = (frame.across(place), bottom + 2 * tick - PIXEL + BELOW);
            canvas.words(&frame.x.label(place), at, "");
        }
    });
}

fn draw_titles(canvas: &mut Canvas, panel: &Panel, frame: &Frame<'_>) {
    let (left, right, top, bottom) = (frame.left, frame.right, frame.top, frame.bottom);
    let title = format!("font-size=\"{}\" font-weight=\"bold\"", TEXT + 1);
    canvas.words(&panel.title, (left, top - 10 * PIXEL), &title);
    canvas.group("text-anchor=\"middle\"", |canvas| {
        let under_labels = bottom + (TEXT + 12) * PIXEL + BELOW;
        let at = (i32::midpoint(left, right), under_labels);
        canvas.words(&panel.x_label, at, "");
        let labels = frame.y.ticks.iter().map(|&place| frame.y.label(place));
        let widest = labels.map(|label| text_width(&label)).max().unwrap_or(0);
        let room = (widest + 26).min(MARGINS[0] - 2);
        let (x, y) = (left - room * PIXEL + BELOW, i32::midpoint(top, bottom));
        let turned = format!("transform=\"rotate(-90 {} {})\"", tenths(x), tenths(y));
        canvas.words(&panel.y_label, (x, y), &turned);
    });
}

/// The bars of all series that have any, side by side around each x.
fn draw_bars(canvas: &mut Canvas, panel: &Panel, frame: &Frame<'_>, legend: &Legend<'_>) {
    let bars: Vec<_> = panel.series.iter().filter(|series| series.bars).collect();
    let mut places: Vec<i32> = bars
        .iter()
        .flat_map(|series| &series.points)
        .filter_map(|point| frame.point(*point))
        .map(|point| point.at.0)
        .collect();
    places.sort_unstable();
    places.dedup();
    let gap = places.windows(2).map(|pair| pair[1] - pair[0]).min();
    let group = gap.unwrap_or(frame.right - frame.left).min(80 * PIXEL) * 4 / 5;
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
        let (mut rectangles, mut whiskers) = (Vec::new(), Path::default());
        for point in series.points.iter().filter_map(|point| frame.point(*point)) {
            let (x, y) = point.at;
            let (left, right) = (x + offset(index), x + offset(index + 1) - PIXEL / 2);
            rectangles.push([(left, y.min(zero)), (right, y.max(zero))]);
            if let Some(interval) = point.interval {
                add_whisker(&mut whiskers, i32::midpoint(left, right), interval);
            }
        }
        draw_bars_alike(canvas, &rectangles, style);
        canvas.path(&whiskers, &format!("stroke=\"{INK}\""));
    }
}

fn draw_series(canvas: &mut Canvas, series: &Series, frame: &Frame<'_>, style: Style) {
    let points: Vec<Option<Point>> = series.points.iter().map(|p| frame.point(*p)).collect();
    let (mut line, mut whiskers) = (Path::default(), Path::default());
    // A value that could not be measured breaks the line rather than being bridged.
    for run in points.split(Option::is_none) {
        if run.len() > 1 {
            line.line(run.iter().flatten().map(|point| point.at));
        }
    }
    for point in points.iter().flatten() {
        if let Some(interval) = point.interval {
            add_whisker(&mut whiskers, point.at.0, interval);
        }
    }
    let places: Vec<Place> = points.iter().flatten().map(|point| point.at).collect();
    draw_line(canvas, &line, style);
    canvas.path(&whiskers, &format!("stroke=\"{}\"", style.colour));
    draw_markers(canvas, &places, style);
}

fn draw_line(canvas: &mut Canvas, line: &Path, style: Style) {
    let dash = match style.dash {
        "" => String::new(),
        lengths => format!(" stroke-dasharray=\"{lengths}\""),
    };
    let attributes = format!(
        "fill=\"none\" stroke=\"{}\" stroke-width=\"{LINE}\"{dash}",
        style.colour
    );
    canvas.path(line, &attributes);
}

fn draw_markers(canvas: &mut Canvas, places: &[Place], style: Style) {
    let mut markers = Path::default();
    for &place in places {
        style.mark(&mut markers, place, MARKER);
    }
    let attributes = format!(
        "fill=\"{}\" stroke=\"{PAPER}\" stroke-width=\"{RIM}\" paint-order=\"stroke\"",
        style.colour
    );
    canvas.path(&markers, &attributes);
}

/// A tint with a full outline, so that neighbours differ in grey too.
fn draw_bars_alike(canvas: &mut Canvas, bars: &[[Place; 2]], style: Style) {
    let mut path = Path::default();
    for &corners in bars {
        path.rectangle(corners);
    }
    // The grid is not to show through.
    canvas.path(&path, &format!("fill=\"{PAPER}\""));
    let Style { colour, tint, .. } = style;
    let attributes = format!("fill=\"{colour}\" fill-opacity=\"{tint}\" stroke=\"{colour}\"");
    canvas.path(&path, &attributes);
}

fn add_whisker(path: &mut Path, x: i32, (low, high): (i32, i32)) {
    path.line([(x, low), (x, high)]);
    for end in [low, high] {
        path.line([(x - CAP, end), (x + CAP, end)]);
    }
}

/// Pixels, about: no font is at hand to measure with.
fn text_width(text: &str) -> i32 {
    text.chars().count() as i32 * TEXT * 57 / 100
}

fn scaled((x, y): (i32, i32)) -> (i32, i32) {
    (x * PIXEL, y * PIXEL)
}

#[cfg(test)]
mod tests;
