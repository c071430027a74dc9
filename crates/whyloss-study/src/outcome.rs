//! The result of an experiment: cells, claims and figures.

use whyloss::Cause;

use crate::Check;

/// The confidence level of intervals, as a share, unless a paper states another.
pub const CONFIDENCE: f64 = 0.95;

/// The result of one experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The id of the experiment, such as `cen-table-2`.
    pub id: String,
    /// The content in a few words.
    pub title: String,
    /// The number of replications behind each mean; the smallest one if a precision rule makes them
    /// differ.
    pub seeds: u64,
    /// The confidence of every interval, in (0, 1).
    pub confidence: f64,
    /// The reason why some means have no interval; `None` if the only one is that every seed gave
    /// the same value.
    pub without_interval: Option<&'static str>,
    /// The measured values, in the order of presentation.
    pub cells: Vec<Cell>,
    /// The statements of the paper that these measurements decide.
    pub claims: Vec<Claim>,
    /// The figures of the paper, and others that help to judge the claims.
    pub figures: Vec<Figure>,
    /// The choices, variants and known differences that readers must know, one paragraph each.
    pub notes: Vec<String>,
}

impl Outcome {
    /// Creates an empty outcome of `seeds` replications.
    pub fn new(id: &str, title: &str, seeds: u64) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            seeds,
            confidence: CONFIDENCE,
            without_interval: None,
            cells: Vec::new(),
            claims: Vec::new(),
            figures: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Sets the confidence of the intervals.
    #[must_use]
    pub fn with_confidence(self, confidence: f64) -> Self {
        Self { confidence, ..self }
    }

    /// Returns the outcome with `cells` appended.
    #[must_use]
    pub fn cells(mut self, cells: impl IntoIterator<Item = Cell>) -> Self {
        self.cells.extend(cells);
        self
    }

    /// Inserts cells before all others.
    #[must_use]
    pub fn first(mut self, cells: impl IntoIterator<Item = Cell>) -> Self {
        self.cells.splice(..0, cells);
        self
    }

    /// Adds a claim that `check` decides.
    #[must_use]
    pub fn claim(mut self, id: &str, text: &str, check: Check) -> Self {
        self.claims.push(check.claim(id, text));
        self
    }

    /// Returns the outcome with `claims` appended.
    #[must_use]
    pub fn claims(mut self, claims: impl IntoIterator<Item = Claim>) -> Self {
        self.claims.extend(claims);
        self
    }

    /// Returns the outcome with a figure of `panels` added, under the experiment's id and title.
    #[must_use]
    pub fn figure(self, panels: impl IntoIterator<Item = Panel>) -> Self {
        let caption = self.title.clone();
        self.captioned(&caption, panels)
    }

    /// Returns the outcome with a figure of `panels` added, under `caption`.
    #[must_use]
    pub fn captioned(mut self, caption: &str, panels: impl IntoIterator<Item = Panel>) -> Self {
        self.figures.push(Figure {
            name: self.id.clone(),
            caption: caption.into(),
            panels: panels.into_iter().collect(),
        });
        self
    }

    /// Appends notes, one paragraph each.
    #[must_use]
    pub fn notes<N: Into<String>>(mut self, notes: impl IntoIterator<Item = N>) -> Self {
        self.notes.extend(notes.into_iter().map(Into::into));
        self
    }

    /// Appends a note of one paragraph.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }
}

/// A measured value, and the value in the paper if the paper states one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// The row of the table, such as `throughput` (in figures: the panel).
    pub row: String,
    /// The column of the table, such as `ZigZag` (in figures: the series).
    pub column: String,
    /// The position on a figure's x axis; `None` in tables.
    pub x: Option<f64>,
    /// The unit of `paper`, `mean`, `half_width` and `tolerance`, such as `%`.
    pub unit: &'static str,
    /// The value in the paper; `None` if the paper states none.
    pub paper: Option<f64>,
    /// Our mean over the seeds; `None` if there was nothing to measure, such as Mc without losses.
    pub mean: Option<f64>,
    /// Half the width of the mean's confidence interval (Student's t); `None` below two values.
    pub half_width: Option<f64>,
    /// The largest allowed distance from the paper's value, fixed before the measurement; `None` if
    /// the cell is not scored.
    pub tolerance: Option<f64>,
    /// The metric, such as `Mw`, under which the cell is scored. May be empty.
    pub metric: &'static str,
    /// The values that trivial answers give, for comparison.
    pub nulls: Nulls,
    /// Whether the cell depends on a constant fitted to the paper's values. Such a cell is shown
    /// but not counted.
    pub fitted: bool,
}

/// The values that trivial answers give for a cell, in the cell's unit. `None` counts as outside
/// the tolerance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Nulls {
    /// The value if every loss is called congestion.
    pub unaware: Option<f64>,
    /// The value if the cause of every loss is known.
    pub oracle: Option<f64>,
}

impl Cell {
    /// Sets the paper's value and the tolerance around it.
    #[must_use]
    pub fn beside(self, paper: f64, tolerance: f64) -> Self {
        Self {
            paper: Some(paper),
            tolerance: Some(tolerance),
            ..self
        }
    }

    /// Returns whether the mean is within tolerance; `None` if there is no value to compare with.
    pub fn within(&self) -> Option<bool> {
        self.would_be_within(self.mean)
    }

    /// Returns whether `value` would be within tolerance; `None` if the paper states no value or
    /// the cell has no tolerance.
    pub fn would_be_within(&self, value: Option<f64>) -> Option<bool> {
        let (paper, tolerance) = (self.paper?, self.tolerance?);
        Some(value.is_some_and(|value| (value - paper).abs() <= tolerance))
    }
}

/// A checkable statement of a paper, with the verdict of the measurements.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The claim's id, such as `CEN-43`.
    pub id: String,
    /// The statement, in our words.
    pub text: String,
    /// Whether the statement holds.
    pub holds: bool,
    /// The numbers that decided the verdict.
    pub evidence: String,
    /// Whether and how the claim counts towards the score.
    pub weight: Weight,
}

/// Decides whether a claim counts towards the score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Weight {
    /// Counts towards the score: the paper's statement in its literal reading.
    #[default]
    Counted,
    /// Does not count towards the score: another reading of the statement, as additional evidence.
    Beside,
    /// Marks a claim that holds for any result; it does not count towards the score.
    Foregone,
}

impl Claim {
    /// Creates a counted claim with its verdict and evidence.
    pub fn new(id: &str, text: &str, holds: bool, evidence: String) -> Self {
        Self {
            id: id.into(),
            text: text.into(),
            holds,
            evidence,
            weight: Weight::Counted,
        }
    }

    /// Sets whether and how the claim counts towards the score.
    #[must_use]
    pub fn weighing(mut self, weight: Weight) -> Self {
        self.weight = weight;
        self
    }

    /// Marks the claim as one that holds for any result.
    #[must_use]
    pub fn foregone(self) -> Self {
        self.weighing(Weight::Foregone)
    }

    /// Returns whether the claim counts towards the score. A claim that holds for any result counts
    /// only if it fails.
    pub fn counts(&self) -> bool {
        match self.weight {
            Weight::Counted => true,
            Weight::Beside => false,
            Weight::Foregone => !self.holds,
        }
    }

    /// Returns the verdict in a word or two.
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

/// A figure: panels under one caption.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The figure's file name without extension, such as `cen-fig-9-high`.
    pub name: String,
    /// The caption below the panels.
    pub caption: String,
    /// The panels, left to right, then top to bottom.
    pub panels: Vec<Panel>,
}

impl Figure {
    /// Creates a figure of one panel.
    pub fn of(name: &str, caption: &str, panel: Panel) -> Self {
        Self {
            name: name.into(),
            caption: caption.into(),
            panels: vec![panel],
        }
    }
}

/// One pair of axes with its series.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// The title above the axes.
    pub title: String,
    /// The label of the x axis, with its unit.
    pub x_label: String,
    /// The label of the y axis, with its unit.
    pub y_label: String,
    /// Whether the x axis is logarithmic.
    pub log_x: bool,
    /// Whether the y axis is logarithmic.
    pub log_y: bool,
    /// The series that the panel draws.
    pub series: Vec<Series>,
}

impl Panel {
    /// Creates a panel with linear axes and labels (x, y), each with its unit.
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

/// One line, set of bars, cloud of points, band, or row of marks in a panel.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// The form in which the series is drawn.
    pub look: Look,
    /// The points: x, y, and half the interval of y (for a band: half its height), each in the unit
    /// of its axis. NaN breaks a line.
    pub points: Vec<(f64, f64, Option<f64>)>,
}

/// Selects the form in which a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// A line with a marker at each point.
    Line,
    /// A dashed line between the points.
    Dashed,
    /// Bars from zero, next to those of other series.
    Bars,
    /// A marker at each point, without a line.
    Points,
    /// A tinted area from y − half to y + half.
    Band,
    /// A full-height vertical rule at each x; y is ignored.
    Marks,
    /// A sign at each point, above all other series.
    Signs(Sign),
}

/// A marker whose colour and shape each have one meaning in all figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sign {
    /// The colour of the marker: an index such as [`Sign::BLUE`].
    pub colour: usize,
    /// The shape of the marker: an index such as [`Sign::SQUARE`].
    pub shape: usize,
}

/// Returns the word for a cause in tables, pages and figures, here and in Python.
pub fn word(cause: Cause) -> &'static str {
    match cause {
        Cause::Congestion => "congestion",
        Cause::Wireless => "wireless",
    }
}

/// The causes in order of presentation.
pub const CAUSES: [Cause; 2] = [Cause::Congestion, Cause::Wireless];

impl Sign {
    /// Returns the index of a cause's colour: red for congestion, blue for wireless, and the text's
    /// colour if unknown. The Python package uses the same colours.
    pub fn colour_of(cause: Option<Cause>) -> usize {
        match cause {
            Some(Cause::Congestion) => Self::RED,
            Some(Cause::Wireless) => Self::BLUE,
            None => Self::INK,
        }
    }

    /// Returns the index of a cause's shape: a square for congestion, a triangle for wireless, and
    /// a cross if unknown. The Python package uses the same shapes.
    pub fn shape_of(cause: Option<Cause>) -> usize {
        match cause {
            Some(Cause::Congestion) => Self::SQUARE,
            Some(Cause::Wireless) => Self::TRIANGLE,
            None => Self::CROSS,
        }
    }

    /// Returns the sign of a lost packet: its colour shows the cause, its shape the verdict.
    pub fn of_loss(cause: Option<Cause>, called: Option<Cause>) -> Self {
        Self {
            colour: Self::colour_of(cause),
            shape: Self::shape_of(called),
        }
    }

    /// The index of the colour blue.
    pub const BLUE: usize = 0;
    /// The index of the colour red, or of a similar one.
    pub const RED: usize = 1;
    /// The index of the colour of text.
    pub const INK: usize = 2;
    /// The index of the shape of a square.
    pub const SQUARE: usize = 1;
    /// The index of the shape of a triangle.
    pub const TRIANGLE: usize = 2;
    /// The index of the shape of a star with five points.
    pub const STAR: usize = 6;
    /// The index of the shape of a cross.
    pub const CROSS: usize = 7;
}

impl Look {
    /// Returns a line, dashed if `dashed`.
    pub fn line(dashed: bool) -> Self {
        if dashed { Self::Dashed } else { Self::Line }
    }
}

impl Series {
    /// Creates a series of points without intervals.
    pub fn new(name: &str, look: Look, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self {
            name: name.into(),
            look,
            points: points.into_iter().map(|(x, y)| (x, y, None)).collect(),
        }
    }

    /// Creates a band between a lower and an upper end at each x: `(x, low, high)`.
    pub fn band(name: &str, ends: impl IntoIterator<Item = (f64, f64, f64)>) -> Self {
        let point = |(x, low, high)| (x, f64::midpoint(low, high), Some((high - low) / 2.0));
        Self {
            name: name.into(),
            look: Look::Band,
            points: ends.into_iter().map(point).collect(),
        }
    }

    /// Breaks a line or band between points more than `gap` apart, where nothing was measured.
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

    /// Creates a series of vertical rules at these x.
    pub fn marks(name: &str, places: impl IntoIterator<Item = f64>) -> Self {
        Self {
            name: name.into(),
            look: Look::Marks,
            points: places.into_iter().map(|x| (x, f64::NAN, None)).collect(),
        }
    }
}
