//! The result of an experiment: cells, claims and figures.

use whyloss::Cause;

use crate::Check;

/// The confidence of intervals, unless a paper states another.
pub const CONFIDENCE: f64 = 0.95;

/// The result of one experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The experiment's id, such as `cen-table-2`.
    pub id: String,
    /// Its content, in a few words.
    pub title: String,
    /// Replications behind each mean; the fewest, where a precision rule lets them differ.
    pub seeds: u64,
    /// The confidence of every interval.
    pub confidence: f64,
    /// Every measured value, in the order of presentation.
    pub cells: Vec<Cell>,
    /// Every statement of the paper that these measurements decide.
    pub claims: Vec<Claim>,
    /// The paper's figures, and others that help to judge the claims.
    pub figures: Vec<Figure>,
    /// Notes that a reader of the numbers must know: choices, variants, known differences. One
    /// paragraph each.
    pub notes: Vec<String>,
}

impl Outcome {
    /// Nothing yet, from so many replications.
    pub fn new(id: &str, title: &str, seeds: u64) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            seeds,
            confidence: CONFIDENCE,
            cells: Vec::new(),
            claims: Vec::new(),
            figures: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The same with intervals of this confidence.
    #[must_use]
    pub fn with_confidence(self, confidence: f64) -> Self {
        Self { confidence, ..self }
    }

    /// With these cells.
    #[must_use]
    pub fn cells(mut self, cells: impl IntoIterator<Item = Cell>) -> Self {
        self.cells.extend(cells);
        self
    }

    /// With these cells before all others.
    #[must_use]
    pub fn first(mut self, cells: impl IntoIterator<Item = Cell>) -> Self {
        self.cells.splice(..0, cells);
        self
    }

    /// With a claim, which this check decides.
    #[must_use]
    pub fn claim(mut self, id: &str, text: &str, check: Check) -> Self {
        self.claims.push(check.claim(id, text));
        self
    }

    /// With these claims.
    #[must_use]
    pub fn claims(mut self, claims: impl IntoIterator<Item = Claim>) -> Self {
        self.claims.extend(claims);
        self
    }

    /// With a figure of these panels under the experiment's name and title.
    #[must_use]
    pub fn figure(self, panels: impl IntoIterator<Item = Panel>) -> Self {
        let caption = self.title.clone();
        self.captioned(&caption, panels)
    }

    /// The same with a caption of its own.
    #[must_use]
    pub fn captioned(mut self, caption: &str, panels: impl IntoIterator<Item = Panel>) -> Self {
        self.figures.push(Figure {
            name: self.id.clone(),
            caption: caption.into(),
            panels: panels.into_iter().collect(),
        });
        self
    }

    /// With what a reader must know, a paragraph each.
    #[must_use]
    pub fn notes<N: Into<String>>(mut self, notes: impl IntoIterator<Item = N>) -> Self {
        self.notes.extend(notes.into_iter().map(Into::into));
        self
    }

    /// With what a reader must know, a paragraph.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// One measured value, beside the paper's where it states one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// The table's row, such as `throughput` (figures: the panel).
    pub row: String,
    /// The table's column, such as `ZigZag` (figures: the series).
    pub column: String,
    /// Where along a figure's x axis, if it is a figure's.
    pub x: Option<f64>,
    /// The unit of `paper`, `mean`, `half_width` and `tolerance`, such as `%`.
    pub unit: &'static str,
    /// The paper's value.
    pub paper: Option<f64>,
    /// Our mean over the seeds; `None` when nothing could be measured (no loss to misclassify,
    /// say).
    pub mean: Option<f64>,
    /// Half the width of the confidence interval of the mean (Student t); `None` with fewer than
    /// two values.
    pub half_width: Option<f64>,
    /// How far from the paper's value the mean may lie, fixed before anything was measured.
    pub tolerance: Option<f64>,
    /// The metric, such as `Mw`: cells are scored per metric. May be empty.
    pub metric: &'static str,
    /// The scores of answers that know nothing of the column.
    pub nulls: Nulls,
    /// Whether a constant that was fitted to the paper's values decides it: it is shown and not
    /// counted.
    pub fitted: bool,
}

/// The scores of trivial answers in a cell; `None` where such an answer has nothing to say, which
/// counts as outside.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Nulls {
    /// Every loss is congestion.
    pub unaware: Option<f64>,
    /// Every loss's cause is known.
    pub oracle: Option<f64>,
}

impl Cell {
    /// With the paper's value, and how far the mean may lie from it.
    #[must_use]
    pub fn beside(self, paper: f64, tolerance: f64) -> Self {
        Self {
            paper: Some(paper),
            tolerance: Some(tolerance),
            ..self
        }
    }

    /// Whether the mean lies within tolerance; `None` where there is nothing to compare.
    pub fn within(&self) -> Option<bool> {
        self.would_be_within(self.mean)
    }

    /// Whether another value would.
    pub fn would_be_within(&self, value: Option<f64>) -> Option<bool> {
        let (paper, tolerance) = (self.paper?, self.tolerance?);
        Some(value.is_some_and(|value| (value - paper).abs() <= tolerance))
    }
}

/// A checkable statement of a paper, and what the measurements say of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The claim's id, such as `CEN-43`.
    pub id: String,
    /// The statement, in our words.
    pub text: String,
    /// Whether it holds.
    pub holds: bool,
    /// The numbers that decided it.
    pub evidence: String,
    /// Whether it counts.
    pub weight: Weight,
}

/// Whether a claim counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Weight {
    /// It is a statement of the paper in the reading that its words name.
    #[default]
    Counted,
    /// It is such a statement in another reading: evidence beside the one that counts.
    Beside,
    /// Marks a claim that holds for any result; it does not count towards the score.
    Foregone,
}

impl Claim {
    /// A claim and what decided it.
    pub fn new(id: &str, text: &str, holds: bool, evidence: String) -> Self {
        Self {
            id: id.into(),
            text: text.into(),
            holds,
            evidence,
            weight: Weight::Counted,
        }
    }

    /// The same with this weight.
    #[must_use]
    pub fn weighing(mut self, weight: Weight) -> Self {
        self.weight = weight;
        self
    }

    /// The same, marked as one that holds whatever happens.
    #[must_use]
    pub fn foregone(self) -> Self {
        self.weighing(Weight::Foregone)
    }

    /// Whether it counts: as a statement, or because what should hold whatever happens does not.
    pub fn counts(&self) -> bool {
        match self.weight {
            Weight::Counted => true,
            Weight::Beside => false,
            Weight::Foregone => !self.holds,
        }
    }

    /// Returns the verdict on it, in a word or two.
    pub fn verdict(&self) -> &'static str {
        match (self.weight, self.holds) {
            (Weight::Counted, true) => "holds",
            (Weight::Counted | Weight::Foregone, false) => "FAILS",
            (Weight::Beside, true) => "also holds",
            (Weight::Beside, false) => "fails beside",
            (Weight::Foregone, true) => "holds whatever happens",
        }
    }
}

/// A figure: panels that share a caption.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// File name without extension, such as `cen-fig-9-high`.
    pub name: String,
    /// Caption.
    pub caption: String,
    /// Left to right, top to bottom.
    pub panels: Vec<Panel>,
}

impl Figure {
    /// A figure of one panel.
    pub fn of(name: &str, caption: &str, panel: Panel) -> Self {
        Self {
            name: name.into(),
            caption: caption.into(),
            panels: vec![panel],
        }
    }
}

/// One pair of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Above the axes.
    pub title: String,
    /// The x axis, with its unit.
    pub x_label: String,
    /// The y axis, with its unit.
    pub y_label: String,
    /// Draw the x axis in powers of ten.
    pub log_x: bool,
    /// Draw the y axis in powers of ten.
    pub log_y: bool,
    /// The drawing.
    pub series: Vec<Series>,
}

impl Panel {
    /// Linear axes with these labels (x, y), each with its unit.
    pub fn new(title: &str, (x_label, y_label): (&str, &str), series: Vec<Series>) -> Self {
        Self {
            title: title.into(),
            x_label: x_label.into(),
            y_label: y_label.into(),
            log_x: false,
            log_y: false,
            series,
        }
    }
}

/// One line, set of bars, cloud of points, band, or row of marks of a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// In the legend.
    pub name: String,
    /// The form in which it is drawn.
    pub look: Look,
    /// x, y, and half the confidence interval of y (of a band: half its height). NaN breaks a line.
    pub points: Vec<(f64, f64, Option<f64>)>,
}

/// The form in which a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// A line with markers.
    Line,
    /// A dashed line.
    Dashed,
    /// Bars from zero, side by side with those of other series.
    Bars,
    /// A marker at each point, without a line.
    Points,
    /// The area between y − half and y + half, tinted.
    Band,
    /// A vertical rule at each x, over the whole height; y is not looked at.
    Marks,
    /// This sign at each point, over all else.
    Signs(Sign),
}

/// A marker whose colour and shape say something each, the same in every figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sign {
    /// A place among the colours.
    pub colour: usize,
    /// A place among the markers.
    pub shape: usize,
}

/// Returns the word for a cause in tables, pages and pictures, here and in Python.
pub fn word(cause: Cause) -> &'static str {
    match cause {
        Cause::Congestion => "congestion",
        Cause::Wireless => "wireless",
    }
}

/// The causes, in the order in which they are told.
pub const CAUSES: [Cause; 2] = [Cause::Congestion, Cause::Wireless];

impl Sign {
    /// The colour of a cause, here and in Python: congestion is red, wireless blue; text's colour
    /// if that is unknown.
    pub fn colour_of(cause: Option<Cause>) -> usize {
        match cause {
            Some(Cause::Congestion) => Self::RED,
            Some(Cause::Wireless) => Self::BLUE,
            None => Self::INK,
        }
    }

    /// The shape of a cause, here and in Python: congestion is a square, wireless a triangle; a
    /// cross if that is unknown.
    pub fn shape_of(cause: Option<Cause>) -> usize {
        match cause {
            Some(Cause::Congestion) => Self::SQUARE,
            Some(Cause::Wireless) => Self::TRIANGLE,
            None => Self::CROSS,
        }
    }

    /// A lost packet: the colour says its cause, the shape what it was called.
    pub fn of_loss(cause: Option<Cause>, called: Option<Cause>) -> Self {
        Self {
            colour: Self::colour_of(cause),
            shape: Self::shape_of(called),
        }
    }

    /// Blue.
    pub const BLUE: usize = 0;
    /// Red, or near to it.
    pub const RED: usize = 1;
    /// The colour of text.
    pub const INK: usize = 2;
    /// A square.
    pub const SQUARE: usize = 1;
    /// A triangle.
    pub const TRIANGLE: usize = 2;
    /// A star with five points.
    pub const STAR: usize = 6;
    /// A cross.
    pub const CROSS: usize = 7;
}

impl Look {
    /// A line, dashed if so.
    pub fn line(dashed: bool) -> Self {
        if dashed { Self::Dashed } else { Self::Line }
    }
}

impl Series {
    /// A series of these points, without intervals.
    pub fn new(name: &str, look: Look, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self {
            name: name.into(),
            look,
            points: points.into_iter().map(|(x, y)| (x, y, None)).collect(),
        }
    }

    /// A band between the lower and the upper ends at each x: `(x, low, high)`.
    pub fn band(name: &str, ends: impl IntoIterator<Item = (f64, f64, f64)>) -> Self {
        let point = |(x, low, high)| (x, f64::midpoint(low, high), Some((high - low) / 2.0));
        Self {
            name: name.into(),
            look: Look::Band,
            points: ends.into_iter().map(point).collect(),
        }
    }

    /// Breaks a line or band between neighbours that are more than `gap` apart: nothing is known in
    /// between.
    #[must_use]
    pub fn broken(mut self, gap: f64) -> Self {
        let mut points = Vec::with_capacity(self.points.len());
        for &(x, y, half) in &self.points {
            if let Some(&(before, _, _)) = points.last()
                && x - before > gap
            {
                points.push((f64::midpoint(before, x), f64::NAN, half.map(|_| f64::NAN)));
            }
            points.push((x, y, half));
        }
        self.points = points;
        self
    }

    /// A rule at each of these places on the x axis.
    pub fn marks(name: &str, places: impl IntoIterator<Item = f64>) -> Self {
        Self {
            name: name.into(),
            look: Look::Marks,
            points: places.into_iter().map(|x| (x, f64::NAN, None)).collect(),
        }
    }
}
