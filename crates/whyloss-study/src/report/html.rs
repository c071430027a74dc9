//! Renders outcomes as one page. A summary links to a section per experiment, with tables, figures,
//! claims with their evidence, and notes. Both colour and a sign show agreement.

use core::fmt::Write;

use super::Citation;
use super::grid::{self, Block};
use super::page::{Page, Statement, Verdict, escape};
use super::score::{Cells, Score};
use crate::{Cell, Claim, Outcome, Weight};

/// Returns the HTML page of all outcomes.
pub fn render(outcomes: &[Outcome], citation: Citation) -> String {
    let mut page = Page::untitled("Whyloss: papers reproduced");
    push_summary(page.raw(), outcomes);
    push_papers(page.raw(), outcomes, citation);
    for outcome in outcomes {
        push_outcome(&mut page, outcome, citation);
    }
    page.finish(&format!(
        "Measured by whyloss {} on simulated networks. A mean comes with half the width of its confidence interval \
         (Student’s t over the seeds), or without where every seed gives the same. The paper’s value stands below it: ✓ within a tolerance that was fixed \
         beforehand, ✗ outside, (fitted) if a constant was fitted to it, so that it does not count. – means that nothing \
         could be measured. Beside a score stands what an answer that is zero everywhere would score, and one that takes \
         every loss for congestion (unaware) or knows every cause (oracle).",
        env!("CARGO_PKG_VERSION")
    ))
}

fn push_summary(page: &mut String, outcomes: &[Outcome]) {
    let total = Score::of(outcomes);
    let _ = write!(
        page,
        "<header>\n<h1>Papers reproduced</h1>\n<p class=\"scores\">{}</p>\n</header>\n",
        badges(&total)
    );
    page.push_str(
        "<div class=\"wide\" tabindex=\"0\"><table class=\"summary\">\n<thead><tr><th>experiment</th><th>shows</th>\
         <th class=\"number\">seeds</th><th class=\"number\">cells in tolerance</th><th>trivial answers</th>\
         <th class=\"number\">claims held</th></tr></thead>\n<tbody>\n",
    );
    for outcome in outcomes {
        let score = Score::of([outcome]);
        let _ = writeln!(
            page,
            "<tr><td><a href=\"#{id}\">{id}</a></td><td>{}</td><td class=\"number\">{}</td>{}<td>{}</td>{}</tr>",
            escape(&outcome.title),
            outcome.seeds,
            share((score.cells.within, score.cells.of)),
            nulls(&score.cells),
            share(score.claims),
            id = escape(&outcome.id),
        );
    }
    page.push_str("</tbody>\n</table></div>\n");
}

/// Returns the paper that an experiment belongs to.
fn paper(outcome: &Outcome) -> &str {
    outcome.id.split('-').next().unwrap_or_default()
}

/// Appends the papers' citations and the legend of their tables.
fn push_papers(page: &mut String, outcomes: &[Outcome], citation: Citation) {
    let mut papers: Vec<&str> = outcomes.iter().map(paper).collect();
    papers.dedup();
    page.push_str("<dl class=\"papers\">\n");
    for paper in papers {
        if let Some(citation) = citation(paper) {
            let (paper, citation) = (escape(paper), escape(citation));
            let _ = writeln!(page, "<dt><code>{paper}</code></dt><dd>{citation}</dd>");
        }
    }
    page.push_str(
        "<dt>Mc</dt><dd>share of congestion losses that were called wireless</dd>\n\
         <dt>Mw</dt><dd>share of wireless losses that were called congestion</dd>\n</dl>\n",
    );
}

/// Formats `part/whole` as a table cell, marked if incomplete.
fn share((part, whole): (usize, usize)) -> String {
    match whole {
        0 => "<td class=\"number none\">–</td>".to_owned(),
        _ => format!(
            "<td class=\"number {}\">{part}/{whole}&#160;<b>{}</b></td>",
            class(Some(part == whole)),
            grid::sign(Some(part == whole))
        ),
    }
}

/// Returns the scores of trivial answers; an empty string if no cell is scored.
fn nulls(cells: &Cells) -> String {
    if cells.of == 0 {
        return String::new();
    }
    cells.nulls()
}

fn badges(score: &Score) -> String {
    let badge = |(part, whole): (usize, usize), what: &str| {
        if whole == 0 {
            return String::new();
        }
        let class = class(Some(part == whole));
        format!("<span class=\"badge {class}\"><b>{part}/{whole}</b> {what}</span> ")
    };
    let mut html = badge((score.cells.within, score.cells.of), "cells in tolerance");
    let plain = |text: &str| format!("<span class=\"badge\">{}</span> ", escape(text));
    if score.cells.of > 0 {
        html.push_str(&plain(&score.cells.nulls()));
    }
    html.push_str(&badge(score.claims, "claims held"));
    for text in score.besides() {
        html.push_str(&plain(&text));
    }
    if score.metrics.len() > 1 {
        for (name, cells) in &score.metrics {
            html.push_str(&plain(&format!("{name} {cells}")));
        }
    }
    html
}

pub(crate) fn push_outcome(page: &mut Page, outcome: &Outcome, citation: Citation) {
    let id = escape(&outcome.id);
    let _ = write!(
        page.raw(),
        "<section id=\"{id}\">\n<h2><a href=\"#{id}\">{id}</a> {}</h2>\n\
         <p class=\"scores\">{}<span class=\"badge\"><b>{}</b> {}</span> <span class=\"badge\">intervals at {} %</span> \
         <a class=\"file\" href=\"{id}.csv\">CSV</a></p>\n",
        escape(&outcome.title),
        badges(&Score::of([outcome])),
        outcome.seeds,
        if outcome.seeds == 1 { "seed" } else { "seeds" },
        grid::percent(outcome.confidence),
    );
    if let Some(citation) = citation(paper(outcome)) {
        page.text(citation);
    }
    let blocks = grid::blocks(&outcome.cells);
    for block in blocks.iter().filter(|block| block.title.is_none()) {
        push_block(page.raw(), block);
    }
    for figure in &super::drawn(outcome) {
        page.figure_with_file(figure);
    }
    let panels: Vec<_> = blocks
        .iter()
        .filter(|block| block.title.is_some())
        .collect();
    if !panels.is_empty() {
        let html = page.raw();
        html.push_str("<details>\n<summary>The numbers behind the figures</summary>\n");
        for block in panels {
            push_block(html, block);
        }
        html.push_str("</details>\n");
    }
    push_claims(page, outcome);
    page.notes(&outcome.notes);
    page.raw().push_str("</section>\n");
}

fn push_block(page: &mut String, block: &Block<'_>) {
    page.push_str("<div class=\"wide\" tabindex=\"0\"><table class=\"cells\">\n<thead><tr>");
    let title = block.title.as_deref().unwrap_or("");
    let turned = is_turned(block);
    let rows: Vec<&str> = block.rows.iter().map(|row| row.label.as_str()).collect();
    let columns: Vec<&str> = block.columns.iter().map(String::as_str).collect();
    let (across, down) = if turned {
        (rows, columns)
    } else {
        (columns, rows)
    };
    // Screen readers cannot announce an empty heading.
    let element = if title.is_empty() { "td" } else { "th" };
    let _ = write!(page, "<{element}>{}</{element}>", escape(title));
    for name in &across {
        let _ = write!(page, "<th>{}</th>", escape(name));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for (y, name) in down.iter().enumerate() {
        let _ = write!(page, "<tr><th>{}</th>", escape(name));
        for x in 0..across.len() {
            let row = &block.rows[if turned { x } else { y }];
            match row.cells[if turned { y } else { x }] {
                Some(cell) => push_cell(page, cell, row.decimals),
                None => page.push_str("<td></td>"),
            }
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table></div>\n");
}

/// The maximum number of columns that fit on a page.
const FIT: usize = 10;

/// Returns whether to swap columns and rows so that they fit. Tables with paper values keep the
/// paper's layout.
fn is_turned(block: &Block<'_>) -> bool {
    let mut cells = block.rows.iter().flat_map(|row| &row.cells).flatten();
    block.columns.len() > FIT.max(block.rows.len()) && cells.all(|cell| cell.paper.is_none())
}

fn push_cell(page: &mut String, cell: &Cell, decimals: usize) {
    // A fitted cell does not count as agreement.
    let agrees = cell.within().filter(|_| !cell.fitted);
    let _ = write!(
        page,
        "<td class=\"{}\">{}",
        class(agrees),
        grid::mean(cell, decimals)
    );
    let interval = grid::half_width(cell, decimals);
    if !interval.is_empty() {
        let _ = write!(page, " <small>{interval}</small>");
    }
    if let Some(paper) = cell.paper {
        let _ = write!(
            page,
            "<span class=\"paper\">paper {paper} <b>{}</b></span>",
            mark(cell)
        );
    }
    page.push_str("</td>");
}

/// Returns the sign of a cell, or a note that it was fitted.
fn mark(cell: &Cell) -> &'static str {
    if cell.fitted {
        "(fitted)"
    } else {
        grid::sign(cell.within())
    }
}

/// Returns the mark and the label of a claim.
fn said(claim: &Claim) -> (Verdict, &'static str) {
    match (claim.weight, claim.holds) {
        (Weight::Counted, true) => (Verdict::Good, "✓ holds"),
        (Weight::Counted | Weight::Foregone, false) => (Verdict::Bad, "✗ fails"),
        (Weight::Beside | Weight::Foregone, _) => (Verdict::Open, claim.verdict()),
    }
}

fn push_claims(page: &mut Page, outcome: &Outcome) {
    if outcome.claims.is_empty() {
        return;
    }
    page.heading("Claims");
    page.statements(outcome.claims.iter().map(|claim| Statement {
        verdict: said(claim).0,
        label: said(claim).1,
        id: &claim.id,
        text: &claim.text,
        evidence: &claim.evidence,
    }));
}

fn verdict(agrees: Option<bool>) -> Verdict {
    match agrees {
        Some(true) => Verdict::Good,
        Some(false) => Verdict::Bad,
        None => Verdict::Open,
    }
}

fn class(agrees: Option<bool>) -> &'static str {
    verdict(agrees).class()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::{example, page};
    use super::*;

    fn example_page() -> String {
        render(&[example::table(), example::figure()], |_| {
            Some("An Example & Co.: How to Reproduce (2002)")
        })
    }

    fn parsed(page: &str) -> roxmltree::Document<'_> {
        let options = roxmltree::ParsingOptions {
            allow_dtd: true,
            ..Default::default()
        };
        roxmltree::Document::parse_with_options(page, options).expect("well-formed")
    }

    #[test]
    fn well_formed_with_unique_ids_and_no_dangling_anchor() {
        let page = example_page();
        let document = parsed(&page);
        let mut ids = BTreeSet::new();
        for node in document.descendants() {
            if let Some(id) = node.attribute("id") {
                assert!(ids.insert(id.to_owned()), "{id} twice");
            }
        }
        for node in document.descendants() {
            if let Some(anchor) = node.attribute("href").and_then(|h| h.strip_prefix('#')) {
                assert!(ids.contains(anchor), "{anchor}");
            }
        }
        assert!(ids.contains("example-table-1") && ids.contains("figure-example-fig-1"));
    }

    #[test]
    fn needs_no_network() {
        let page = example_page();
        let document = parsed(&page);
        for node in document.descendants() {
            for attribute in node.attributes() {
                assert!(!attribute.value().contains("//"), "{}", attribute.value());
            }
            assert!(!matches!(node.tag_name().name(), "link" | "img"));
            assert_eq!(node.attribute("src"), None);
        }
        assert!(!page::CSS.contains("url(") && !page::CSS.contains("@import"));
    }

    #[test]
    fn says_what_agrees_in_words_and_signs() {
        let page = example_page();
        let document = parsed(&page);
        let cells: Vec<_> = document
            .descendants()
            .filter(|node| node.has_tag_name("td") && node.attribute("class") == Some("out"))
            .collect();
        assert_eq!(cells.len(), 3);
        for cell in cells {
            assert!(cell.descendants().any(|node| node.text() == Some("✗")));
        }
        assert!(page.contains("✗ fails") && page.contains("✓ holds"));
        assert!(page.contains("2.31 &gt; 0.51 %"));
    }

    #[test]
    fn nothing_reported_is_a_page_too() {
        parsed(&render(&[], |_| None));
    }
}
