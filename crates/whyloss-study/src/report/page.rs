//! Builds a self-contained page: no network, inline pictures, light and dark. Scripts make it
//! interactive, but it is complete without them.
//!
//! Outcomes ([`super::html`]), comparisons and runs use it. The page is also well-formed XML, which
//! tests check. Texts are escaped here; text between back quotes becomes code.
//!
//! ```
//! use whyloss_study::report::page::{Page, Table};
//! use whyloss_study::{Figure, Look, Panel, Series};
//!
//! let mut page = Page::new("One run");
//! page.section("flows", "Flows");
//! page.text("Two flows share a link of `10 Mbit/s`.");
//! let mut table = Table::new(["flow", "goodput, Mbit/s"]);
//! table.row(["tcp".into(), 4.8.into()]);
//! page.table(&table);
//! page.figure(&Figure::of("window", "The window over time.", Panel::new(
//!     "tcp",
//!     ("time, s", "segments"),
//!     vec![
//!         Series::new("window", Look::Line, [(0.0, 1.0), (1.0, 2.0)]),
//!         Series::marks("losses", [0.5]),
//!     ],
//! )));
//! let html = page.finish("Measured by whyloss.");
//! assert!(html.starts_with("<!DOCTYPE html>") && html.contains("<svg"));
//! ```

use core::fmt::{Display, Write};

use whyloss_sim::text::printable;

use super::live;
use super::svg::{self, GRID, INK, PAPER};
use crate::Figure;

pub(super) const CSS: &str = include_str!("page.css");

/// Collects the parts of a page.
#[derive(Clone, Debug)]
pub struct Page {
    html: String,
    in_section: bool,
    /// Whether a figure has data for a chart.
    charts: bool,
}

impl Page {
    /// Creates a page with this heading, which is also the window's title.
    pub fn new(heading: &str) -> Self {
        let mut page = Self::untitled(heading);
        let _ = write!(
            page.html,
            "<header>\n<h1>{}</h1>\n</header>\n",
            escape(heading)
        );
        page
    }

    /// Creates a page with this window title and no heading.
    pub fn untitled(title: &str) -> Self {
        let html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <title>{}</title>\n<style>\n{CSS}{}{}</style>\n</head>\n<body>\n<main>\n",
            escape(title),
            live::css(),
            picture_colours()
        );
        Self {
            html,
            in_section: false,
            charts: false,
        }
    }

    /// Opens a section that lasts until the next one; links refer to it by `id`.
    pub fn section(&mut self, id: &str, heading: &str) {
        self.close();
        self.in_section = true;
        let _ = write!(
            self.html,
            "<section id=\"{}\">\n<h2>{}</h2>\n",
            escape(id),
            escape(heading)
        );
    }

    /// Adds a heading within a section.
    pub fn heading(&mut self, text: &str) {
        let _ = writeln!(self.html, "<h3>{}</h3>", escape(text));
    }

    /// Adds a paragraph with this text.
    pub fn text(&mut self, text: &str) {
        let _ = writeln!(self.html, "<p>{}</p>", with_code(text));
    }

    /// Adds a table to the open section.
    pub fn table(&mut self, table: &Table) {
        let class = if table.overview { "summary" } else { "cells" };
        let _ = write!(
            self.html,
            "<div class=\"wide\" tabindex=\"0\"><table class=\"{class}\">\n<thead><tr>"
        );
        for (index, column) in table.columns.iter().enumerate() {
            let class = table.class(index, None);
            let element = if column.is_empty() { "td" } else { "th" };
            let _ = write!(
                self.html,
                "<{element}{class}>{}</{element}>",
                escape(column)
            );
        }
        self.html.push_str("</tr></thead>\n<tbody>\n");
        for row in &table.rows {
            self.html.push_str("<tr>");
            for (index, entry) in row.iter().enumerate() {
                let element = if index == 0 && !table.overview {
                    "th"
                } else {
                    "td"
                };
                let class = table.class(index, entry.verdict);
                let _ = write!(self.html, "<{element}{class}>{entry}</{element}>");
            }
            self.html.push_str("</tr>\n");
        }
        self.html.push_str("</tbody>\n</table></div>\n");
    }

    /// Adds preformatted text, such as a file or a command line.
    pub fn listing(&mut self, text: &str) {
        let _ = writeln!(
            self.html,
            "<pre tabindex=\"0\">{}</pre>",
            escape(text.trim_end())
        );
    }

    /// Draws a figure inline, with its caption.
    pub fn figure(&mut self, figure: &Figure) {
        self.picture(figure, "");
    }

    /// Draws a figure with a link to its file, `<name>.svg`.
    pub fn figure_with_file(&mut self, figure: &Figure) {
        let name = escape(&figure.name);
        self.picture(
            figure,
            &format!(" <a class=\"file\" href=\"{name}.svg\">SVG</a>"),
        );
    }

    fn picture(&mut self, figure: &Figure, link: &str) {
        let name = escape(&figure.name);
        let caption = escape(&figure.caption);
        let picture = svg::render(figure);
        let data = live::data(figure);
        self.charts |= data.is_some();
        let data = data.unwrap_or_default();
        let _ = write!(
            self.html,
            "<figure id=\"figure-{name}\">\n{picture}{data}<figcaption>{caption}{link}</figcaption>\n</figure>\n"
        );
    }

    /// Adds a list of statements with their verdicts and evidence.
    pub fn statements<'a>(&mut self, statements: impl IntoIterator<Item = Statement<'a>>) {
        self.html.push_str("<ul class=\"claims\">\n");
        for statement in statements {
            let Statement { verdict, label, .. } = statement;
            let id = match statement.id {
                "" => String::new(),
                id => format!("<span class=\"id\">{}</span> ", escape(id)),
            };
            let _ = writeln!(
                self.html,
                "<li class=\"{}\"><b>{}</b> {id}{} <span class=\"evidence\">{}</span></li>",
                verdict.class(),
                escape(label),
                escape(statement.text),
                escape(statement.evidence),
            );
        }
        self.html.push_str("</ul>\n");
    }

    /// Adds notes, one paragraph each.
    pub fn notes(&mut self, notes: &[String]) {
        if !notes.is_empty() {
            self.heading("Notes");
            self.html.push_str("<ul class=\"notes\">\n");
            for note in notes {
                let _ = writeln!(self.html, "<li>{}</li>", with_code(note));
            }
            self.html.push_str("</ul>\n");
        }
    }

    /// Adds a section that links files next to the page and describes their contents.
    pub fn files<'a>(&mut self, files: impl IntoIterator<Item = (&'a str, &'a str)>) {
        self.section("files", "Files");
        self.html.push_str("<ul class=\"notes\">\n");
        for (name, holds) in files {
            let (name, holds) = (escape(name), with_code(holds));
            let _ = writeln!(self.html, "<li><a href=\"{name}\">{name}</a>: {holds}</li>");
        }
        self.html.push_str("</ul>\n");
    }

    /// Opens a part that stays folded until a reader opens it.
    pub fn fold(&mut self, heading: &str) {
        let heading = escape(heading);
        let _ = writeln!(self.html, "<details>\n<summary>{heading}</summary>");
    }

    /// Ends the part that [`fold`](Self::fold) opened.
    pub fn unfold(&mut self) {
        self.html.push_str("</details>\n");
    }

    /// Returns the HTML under construction; callers must escape additions.
    pub(super) fn raw(&mut self) -> &mut String {
        &mut self.html
    }

    pub(super) fn close(&mut self) {
        if self.in_section {
            self.html.push_str("</section>\n");
        }
        self.in_section = false;
    }

    /// Returns the complete page with this footer.
    pub fn finish(mut self, footer: &str) -> String {
        self.close();
        let footer = with_code(footer);
        let _ = writeln!(self.html, "</main>\n<footer>{footer}</footer>");
        live::scripts(&mut self.html, self.charts);
        self.html.push_str("</body>\n</html>\n");
        self.html
    }
}

/// Marks an entry by colour, and by a sign for colour-blind readers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The result is as expected.
    Good,
    /// The result is not as expected.
    Bad,
    /// The result is neither good nor bad.
    Open,
}

impl Verdict {
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Good => "in",
            Self::Bad => "out",
            Self::Open => "open",
        }
    }
}

/// One entry of [`Page::statements`].
#[derive(Clone, Copy, Debug)]
pub struct Statement<'a> {
    /// The verdict, which sets the colour of the entry.
    pub verdict: Verdict,
    /// The verdict in words, such as `✓ holds`.
    pub label: &'a str,
    /// The id of the statement; may be empty.
    pub id: &'a str,
    /// The statement itself.
    pub text: &'a str,
    /// The evidence; may be empty.
    pub evidence: &'a str,
}

/// A table of a page: headings, and rows whose first column is the label.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Entry>>,
    overview: bool,
}

impl Table {
    /// Creates a table with these headings and no rows.
    pub fn new<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        Self {
            columns: columns.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Creates a table as wide as the page, for its top.
    pub fn overview<S: Into<String>>(columns: impl IntoIterator<Item = S>) -> Self {
        Self {
            overview: true,
            ..Self::new(columns)
        }
    }

    /// Adds a row with one entry per column.
    pub fn row(&mut self, entries: impl IntoIterator<Item = Entry>) {
        self.rows.push(entries.into_iter().collect());
    }

    /// Aligns a column of an overview to the right if all its entries are numbers.
    fn class(&self, column: usize, verdict: Option<Verdict>) -> String {
        let numbers = |row: &Vec<Entry>| row.get(column).is_none_or(|entry| entry.number);
        let number = self.overview && self.rows.iter().all(numbers);
        let verdict = verdict.map(Verdict::class);
        let classes: Vec<&str> = number
            .then_some("number")
            .into_iter()
            .chain(verdict)
            .collect();
        if classes.is_empty() {
            String::new()
        } else {
            format!(" class=\"{}\"", classes.join(" "))
        }
    }
}

/// A cell of a table.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    text: String,
    interval: String,
    detail: String,
    sign: String,
    link: Option<String>,
    verdict: Option<Verdict>,
    number: bool,
}

impl Entry {
    /// Links the entry to the section with this id.
    #[must_use]
    pub fn to_section(mut self, id: &str) -> Self {
        self.link = Some(id.into());
        self
    }

    /// Appends text in small letters, such as `±0.3`.
    #[must_use]
    pub fn interval(mut self, interval: String) -> Self {
        self.interval = interval;
        self
    }

    /// Adds a second line in small letters.
    #[must_use]
    pub fn detail(mut self, detail: &str) -> Self {
        self.detail = detail.into();
        self
    }

    /// Marks the entry and prefixes a sign.
    #[must_use]
    pub fn marked(mut self, verdict: Verdict, sign: &str) -> Self {
        self.verdict = Some(verdict);
        self.sign = sign.into();
        self
    }
}

impl From<&str> for Entry {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for Entry {
    fn from(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl From<$number> for Entry {
            fn from(number: $number) -> Self {
                Self { number: true, ..number.to_string().into() }
            }
        }
    )*};
}
numbers!(f64, u64, usize);

impl Display for Entry {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if !self.sign.is_empty() {
            write!(f, "<b>{}</b> ", escape(&self.sign))?;
        }
        match &self.link {
            Some(id) => write!(f, "<a href=\"#{}\">{}</a>", escape(id), escape(&self.text))?,
            None => f.write_str(&escape(&self.text))?,
        }
        if !self.interval.is_empty() {
            write!(f, " <small>{}</small>", escape(&self.interval))?;
        }
        if !self.detail.is_empty() {
            write!(
                f,
                "<span class=\"evidence\">{}</span>",
                escape(&self.detail)
            )?;
        }
        Ok(())
    }
}

/// Returns rules that override the pictures' colour attributes, so that pictures follow the page's
/// dark mode.
fn picture_colours() -> String {
    let mut rules = String::new();
    for (colour, name) in [(INK, "ink"), (GRID, "grid"), (PAPER, "paper")] {
        let hex = svg::hex(colour);
        for property in ["fill", "stroke"] {
            let _ = writeln!(
                rules,
                "svg [{property}=\"{hex}\"] {{ {property}: var(--{name}); }}"
            );
        }
    }
    // Quotes are safe: in a style element of XML only these two characters need escaping.
    debug_assert!(!rules.contains(['<', '&']));
    rules
}

/// Marks the text between back quotes as code.
fn with_code(text: &str) -> String {
    let mut html = String::new();
    let parts: Vec<&str> = text.split('`').collect();
    for (index, part) in parts.iter().enumerate() {
        // An unmatched quote stays as it is.
        let quoted = index % 2 == 1;
        let _ = match (quoted, index + 1 < parts.len()) {
            (true, true) => write!(html, "<code>{}</code>", escape(part)),
            (true, false) => write!(html, "`{}", escape(part)),
            (false, _) => write!(html, "{}", escape(part)),
        };
    }
    html
}

/// Escapes text for a page and drops characters that would reorder it ([`printable`]).
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Look, Panel, Series};

    /// Returns a page with every kind of content.
    pub(crate) fn page() -> String {
        let mut page = Page::new("A <run>");
        let mut overview = Table::overview(["part", "packets"]);
        overview.row([Entry::from("flows").to_section("flows"), 12_usize.into()]);
        page.table(&overview);
        page.section("flows", "Flows & links");
        page.text("Sent with `a < b`.");
        let mut table = Table::new(["flow", "goodput", "verdict"]);
        table.row([
            Entry::from("tcp").detail("NewReno"),
            Entry::from(4.8).interval("±0.2".into()),
            Entry::from("different").marked(Verdict::Bad, "✗"),
        ]);
        page.table(&table);
        let wave = |at: f64| 10.0 + 8.0 * libm::sin(at / 3.0);
        let times = || (0..60).map(f64::from);
        let series = vec![
            Series::band("range", times().map(|t| (t, wave(t) - 2.0, wave(t) + 3.0))),
            Series::new("window", Look::Line, times().map(|t| (t, wave(t)))),
            Series::new(
                "samples",
                Look::Points,
                times().step_by(4).map(|t| (t, wave(t) + 1.0)),
            ),
            Series::marks("lost by the channel", [12.0, 13.0, 70.0]),
        ];
        let panel = Panel::new("tcp", ("time, s", "segments"), series);
        page.figure(&Figure::of("window", "The window over time.", panel));
        page.statements([Statement {
            verdict: Verdict::Good,
            label: "✓ holds",
            id: "EX-1",
            text: "1 < 2",
            evidence: "",
        }]);
        page.notes(&["A `note`.".into()]);
        page.finish("Made by hand.")
    }

    #[test]
    fn well_formed_and_complete() {
        let page = page();
        let options = roxmltree::ParsingOptions {
            allow_dtd: true,
            ..Default::default()
        };
        let document =
            roxmltree::Document::parse_with_options(&page, options).expect("well-formed");
        let count = |name: &str| {
            let named = document.descendants().filter(|n| n.has_tag_name(name));
            named.count()
        };
        assert_eq!(
            ["section", "table", "svg", "li", "footer"].map(count),
            [1, 2, 1, 2, 1]
        );
        assert!(page.contains("<td class=\"number\">12</td>"));
        assert!(page.contains("<th>tcp<span class=\"evidence\">NewReno</span></th>"));
        assert!(page.contains("<td class=\"out\"><b>✗</b> different</td>"));
    }

    /// Writes `target/example-report/page.html` for inspection: `cargo test -p whyloss-study --
    /// --ignored draws_a_page`.
    #[test]
    #[ignore = "writes a page to look at"]
    fn draws_a_page() {
        let dir =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/example-report");
        super::super::prepare(&dir).expect("a writable directory");
        super::super::write(&dir, "page.html", &page()).expect("a page");
    }

    #[test]
    fn back_quotes_mark_code() {
        assert_eq!(with_code("a `b<c` d"), "a <code>b&lt;c</code> d");
        assert_eq!(with_code("a ` b"), "a ` b");
    }
}
