//! Writes a run as one self-contained page: the scenario, tables, time series, and the command that
//! repeats it.

use std::path::Path;

use whyloss_sim::Scenario;
use whyloss_study::Figure;
use whyloss_study::report::page::{Entry, Page, Table};
use whyloss_study::report::{self, ReportError, svg};

use super::picture::Timeline;
use super::table;
use whyloss_study::results::Results;

/// The maximum number of flows, and of links, that the page draws.
const MOST_DRAWN: usize = 12;

/// The parts of the page besides the results.
pub(super) struct Source<'a> {
    /// The scenario file, as it was read.
    pub(super) text: &'a str,
    /// The command that was given.
    pub(super) command: String,
    /// The seed and the timeline of the first runs that reached their end.
    pub(super) timelines: Vec<(u64, &'a Timeline)>,
}

/// Writes `index.html`, `results.csv`, `results.json`, `scenario.toml` and a figure per flow and
/// link.
pub(super) fn write(
    dir: &Path,
    scenario: &Scenario,
    results: &Results<'_>,
    source: &Source<'_>,
    file: &Path,
) -> Result<(), ReportError> {
    let html = render(Some(dir), scenario, results, source, file)?;
    let figures: Option<Vec<Figure>> = source.timelines.first().map(|(_, timeline)| {
        let (flows, links) = shown(scenario, results);
        let flows = flows.into_iter().take(MOST_DRAWN);
        let links = links.into_iter().take(MOST_DRAWN);
        let flows = flows.map(|index| timeline.flow(index));
        flows
            .chain(links.map(|index| timeline.link(index)))
            .collect()
    });
    report::write_series(dir, &figures.unwrap_or_default())?;
    report::write(dir, "results.csv", &super::csv::render(results))?;
    report::write(
        dir,
        "results.json",
        &whyloss_study::results::json::render(results, file),
    )?;
    report::write(dir, "scenario.toml", source.text)?;
    report::write(dir, "index.html", &html)
}

/// Returns the HTML page with its figures. Also writes each figure to `dir`, if given.
pub(super) fn render(
    dir: Option<&Path>,
    scenario: &Scenario,
    results: &Results<'_>,
    source: &Source<'_>,
    file: &Path,
) -> Result<String, ReportError> {
    let mut page = Page::new(&heading(scenario, file));
    summary(&mut page, results, source);
    let (flows, links) = shown(scenario, results);
    for (index, &(seed, timeline)) in source.timelines.iter().enumerate() {
        let place = Place {
            dir,
            seed,
            others: index > 0,
        };
        pictures(&place, &mut page, timeline, &flows, &links)?;
    }
    page.section("again", "Run it again");
    page.text(
        "With the scenario below as a file, in the directory where the files that it names are:",
    );
    page.listing(&source.command);
    page.text("The same scenario and seeds give the same results, on every machine.");
    page.section("scenario", "The scenario");
    page.text("As it was read, before any `--set`.");
    page.listing(source.text);
    if dir.is_some() {
        page.files([
            ("results.csv", "each value of each seed"),
            (
                "results.json",
                "each value of each seed, with means and intervals",
            ),
            ("scenario.toml", "the scenario"),
            ("series.json", "the data of the pictures"),
        ]);
    }
    Ok(page.finish(&footer()))
}

/// Returns the indices of the flows and links that are drawn.
fn shown(scenario: &Scenario, results: &Results<'_>) -> (Vec<usize>, Vec<usize>) {
    let links = (0..scenario.links.len()).filter(|&link| !table::is_quiet(&results.links[link]));
    (foreground(scenario), links.collect())
}

fn foreground(scenario: &Scenario) -> Vec<usize> {
    let flows = 0..scenario.flows.len();
    flows
        .filter(|&flow| !scenario.flows[flow].background)
        .collect()
}

/// Returns the page of an unfinished run, with the first seed so far.
pub(super) fn render_so_far(
    scenario: &Scenario,
    seed: u64,
    timeline: &Timeline,
    simulated_s: f64,
    asked_s: f64,
    file: &Path,
) -> Result<String, ReportError> {
    let mut page = Page::new(&heading(scenario, file));
    page.text(&format!(
        "{simulated_s:.0} of {asked_s:.0} s simulated, over all seeds. Results follow at the end."
    ));
    let place = Place {
        dir: None,
        seed,
        others: false,
    };
    let links = (0..scenario.links.len()).filter(|&link| timeline.has_losses(link));
    let links: Vec<usize> = links.collect();
    pictures(&place, &mut page, timeline, &foreground(scenario), &links)?;
    Ok(page.finish(&footer()))
}

fn heading(scenario: &Scenario, file: &Path) -> String {
    if scenario.title.is_empty() {
        file.to_string_lossy().into_owned()
    } else {
        scenario.title.clone()
    }
}

fn footer() -> String {
    format!("Simulated by whyloss {}.", env!("CARGO_PKG_VERSION"))
}

fn summary(page: &mut Page, results: &Results<'_>, source: &Source<'_>) {
    page.section("results", "Results");
    page.text(&format!("{}.", table::what(results)));
    let sections = table::sections(results);
    for section in &sections.tables {
        let mut headings = vec![section.what.to_owned()];
        headings.extend(section.columns.iter().map(|column| (*column).to_owned()));
        let mut shown = Table::new(headings);
        for (name, cells) in &section.rows {
            let cell = |cell: &table::Cell| match &cell.interval {
                Some(interval) => Entry::from(cell.mean.clone()).interval(interval.clone()),
                None => Entry::from(cell.mean.clone()),
            };
            let entries = cells.iter().map(cell);
            shown.row([Entry::from(name.clone())].into_iter().chain(entries));
        }
        page.table(&shown);
    }
    page.notes(&sections.notes);
    if source.timelines.is_empty() {
        page.text("There are no pictures, since the first seed did not come to its end.");
    }
}

/// The file names of a seed's figures.
struct Place<'a> {
    /// The directory in which each figure is also written as a file.
    dir: Option<&'a Path>,
    seed: u64,
    /// Whether another seed comes earlier on the page. If so, this one's section is folded, and its
    /// file names contain the seed.
    others: bool,
}

impl Place<'_> {
    fn named(&self, mut figure: Figure) -> Figure {
        if self.others {
            figure.name = format!("seed-{}-{}", self.seed, figure.name);
        }
        figure
    }
}

fn pictures(
    place: &Place<'_>,
    page: &mut Page,
    timeline: &Timeline,
    flows: &[usize],
    links: &[usize],
) -> Result<(), ReportError> {
    let seed = place.seed;
    if place.others {
        page.section(&format!("seed-{seed}"), &format!("Seed {seed}"));
        page.fold("Flows and links over time");
        page.heading("Flows over time");
    } else {
        page.section("flows", &format!("Flows over time, seed {seed}"));
    }
    page.text(
        "A sign above the lines is a loss. Its colour is the true cause: red is congestion, blue is wireless. Its shape is what the classifier \
         called it: a square is congestion, a triangle wireless, a cross not judged. Signs that \
         would overlap share one. Lines are means over short times, bands reach from the least to the most \
         in them.",
    );
    let left = |count: usize, what: &str| {
        let more = count.saturating_sub(MOST_DRAWN);
        (more > 0).then(|| format!("{more} more {what} are not drawn."))
    };
    let draw = |page: &mut Page, figure| {
        let figure = place.named(figure);
        let Some(dir) = place.dir else {
            page.figure(&figure);
            return Ok(());
        };
        page.figure_with_file(&figure);
        report::write(dir, &format!("{}.svg", figure.name), &svg::render(&figure))
    };
    for &index in flows.iter().take(MOST_DRAWN) {
        draw(page, timeline.flow(index))?;
    }
    if let Some(text) = left(flows.len(), "flows") {
        page.text(&text);
    }
    if place.others {
        page.heading("Links over time");
    } else {
        page.section("links", &format!("Links over time, seed {seed}"));
    }
    for &index in links.iter().take(MOST_DRAWN) {
        draw(page, timeline.link(index))?;
    }
    if let Some(text) = left(links.len(), "links") {
        page.text(&text);
    }
    if links.is_empty() {
        page.text("No link lost anything, or was used for more than 5 % of the time.");
    }
    if place.others {
        page.unfold();
    }
    Ok(())
}

/// Returns the command line that gives this page again, quoted for a shell.
pub(super) fn command(arguments: impl IntoIterator<Item = String>) -> String {
    let quote = |argument: String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
        if !argument.is_empty() && argument.chars().all(plain) {
            argument
        } else {
            format!("'{}'", argument.replace('\'', "'\\''"))
        }
    };
    let words: Vec<String> = arguments.into_iter().map(quote).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_quoted() {
        let words = ["whyloss", "run", "a b.toml", "--set", "x=it's"];
        assert_eq!(
            command(words.map(str::to_owned)),
            r"whyloss run 'a b.toml' --set 'x=it'\''s'"
        );
    }
}
