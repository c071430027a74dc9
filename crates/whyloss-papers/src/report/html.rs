//! Outcomes as one page that needs nothing else: no network, no script, pictures inline, light and dark.
//!
//! A summary on top leads to a section per experiment: tables as the paper prints them, figures with the numbers
//! behind them folded away, claims with their evidence, notes. Agreement is shown by colour *and* sign. The page is
//! also well-formed XML, so that a test can hold it to that.

use core::fmt::Write;

use super::grid::{self, Block, Score};
use super::svg::{self, GRID, INK, PAPER};
use crate::{Cell, Figure, Outcome};

const CSS: &str = include_str!("page.css");

/// The whole page.
pub fn render(outcomes: &[Outcome]) -> String {
    let mut page = head("Whyloss: papers reproduced");
    push_summary(&mut page, outcomes);
    for outcome in outcomes {
        push_outcome(&mut page, outcome);
    }
    let _ = write!(
        page,
        "<footer>Measured by whyloss {} on simulated networks. A mean comes with half the width of its confidence \
         interval (Student’s t over the seeds). The paper’s value stands below it: <b class=\"in\">✓</b> \
         within a tolerance that was fixed beforehand, <b class=\"out\">✗</b> outside. – means that nothing could \
         be measured.</footer>\n</body>\n</html>\n",
        env!("CARGO_PKG_VERSION")
    );
    page
}

/// A page of this title, up to and including the opening of its body: for other reports in the same manner.
pub fn head(title: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>{}</title>\n<style>\n{CSS}{}</style>\n</head>\n<body>\n",
        escape(title),
        picture_colours()
    )
}

/// Pictures carry their colours as attributes, which any rule overrides: so they follow the page into the dark.
fn picture_colours() -> String {
    let mut rules = String::new();
    for (colour, name) in [(INK, "ink"), (GRID, "grid"), (PAPER, "paper")] {
        let hex = format!("#{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2);
        for property in ["fill", "stroke"] {
            let _ = writeln!(
                rules,
                "svg [{property}=\"{hex}\"] {{ {property}: var(--{name}); }}"
            );
        }
    }
    // Quotes and all: inside a style element of XML only these two would need escaping.
    debug_assert!(!rules.contains(['<', '&']));
    rules
}

fn push_summary(page: &mut String, outcomes: &[Outcome]) {
    let total = grid::score(outcomes);
    let _ = write!(
        page,
        "<header>\n<h1>Papers reproduced</h1>\n<p class=\"scores\">{}</p>\n</header>\n",
        badges(&total)
    );
    page.push_str(
        "<div class=\"wide\"><table class=\"summary\">\n<thead><tr><th>experiment</th><th>shows</th>\
         <th class=\"number\">seeds</th><th class=\"number\">cells in tolerance</th>\
         <th class=\"number\">claims held</th></tr></thead>\n<tbody>\n",
    );
    for outcome in outcomes {
        let score = grid::score([outcome]);
        let _ = writeln!(
            page,
            "<tr><td><a href=\"#{id}\">{id}</a></td><td>{}</td><td class=\"number\">{}</td>{}{}</tr>",
            escape(&outcome.title),
            outcome.seeds,
            share(score.cells),
            share(score.claims),
            id = escape(&outcome.id),
        );
    }
    page.push_str("</tbody>\n</table></div>\n");
}

/// A table cell that says `part/whole`, marked when it is not the whole.
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

fn badges(score: &Score) -> String {
    let badge = |(part, whole): (usize, usize), what: &str| {
        if whole == 0 {
            return String::new();
        }
        let class = class(Some(part == whole));
        format!("<span class=\"badge {class}\"><b>{part}/{whole}</b> {what}</span> ")
    };
    badge(score.cells, "cells in tolerance") + &badge(score.claims, "claims held")
}

fn push_outcome(page: &mut String, outcome: &Outcome) {
    let id = escape(&outcome.id);
    let _ = write!(
        page,
        "<section id=\"{id}\">\n<h2><a href=\"#{id}\">{id}</a> {}</h2>\n\
         <p class=\"scores\">{}<span class=\"badge\"><b>{}</b> {}</span> <span class=\"badge\">intervals at {} %</span> \
         <a class=\"file\" href=\"{id}.csv\">CSV</a></p>\n",
        escape(&outcome.title),
        badges(&grid::score([outcome])),
        outcome.seeds,
        if outcome.seeds == 1 { "seed" } else { "seeds" },
        grid::percent(outcome.confidence),
    );
    let blocks = grid::blocks(&outcome.cells);
    for block in blocks.iter().filter(|block| block.title.is_none()) {
        push_block(page, block);
    }
    for figure in &outcome.figures {
        push_figure(page, figure);
    }
    let panels: Vec<_> = blocks
        .iter()
        .filter(|block| block.title.is_some())
        .collect();
    if !panels.is_empty() {
        page.push_str("<details>\n<summary>The numbers behind the figures</summary>\n");
        for block in panels {
            push_block(page, block);
        }
        page.push_str("</details>\n");
    }
    push_claims(page, outcome);
    if !outcome.notes.is_empty() {
        page.push_str("<h3>Notes</h3>\n<ul class=\"notes\">\n");
        for note in &outcome.notes {
            let _ = writeln!(page, "<li>{}</li>", with_code(note));
        }
        page.push_str("</ul>\n");
    }
    page.push_str("</section>\n");
}

fn push_block(page: &mut String, block: &Block<'_>) {
    page.push_str("<div class=\"wide\"><table class=\"cells\">\n<thead><tr>");
    let _ = write!(
        page,
        "<th>{}</th>",
        escape(block.title.as_deref().unwrap_or(""))
    );
    for column in &block.columns {
        let _ = write!(page, "<th>{}</th>", escape(column));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for row in &block.rows {
        let _ = write!(page, "<tr><th>{}</th>", escape(&row.label));
        for cell in &row.cells {
            match cell {
                Some(cell) => push_cell(page, cell, row.decimals),
                None => page.push_str("<td></td>"),
            }
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody>\n</table></div>\n");
}

fn push_cell(page: &mut String, cell: &Cell, decimals: usize) {
    let _ = write!(
        page,
        "<td class=\"{}\">{}",
        class(cell.within()),
        grid::mean(cell, decimals)
    );
    if cell.half_width.is_some() {
        let _ = write!(page, " <small>{}</small>", grid::half_width(cell, decimals));
    }
    if let Some(paper) = cell.paper {
        let _ = write!(
            page,
            "<span class=\"paper\">paper {paper} <b>{}</b></span>",
            grid::sign(cell.within())
        );
    }
    page.push_str("</td>");
}

fn push_figure(page: &mut String, of: &Figure) {
    let link = format!(
        " <a class=\"file\" href=\"{}.svg\">SVG</a></figcaption>",
        escape(&of.name)
    );
    page.push_str(&figure(of).replacen("</figcaption>", &link, 1));
}

/// A picture with its caption.
pub fn figure(figure: &Figure) -> String {
    let name = escape(&figure.name);
    let caption = escape(&figure.caption);
    let picture = svg::render(figure);
    let picture = picture.replacen("<svg ", &format!("<svg aria-label=\"{caption}\" "), 1);
    format!(
        "<figure id=\"figure-{name}\">\n{picture}<figcaption>{caption}</figcaption>\n</figure>\n"
    )
}

fn push_claims(page: &mut String, outcome: &Outcome) {
    if outcome.claims.is_empty() {
        return;
    }
    page.push_str("<h3>Claims</h3>\n<ul class=\"claims\">\n");
    for claim in &outcome.claims {
        let _ = writeln!(
            page,
            "<li class=\"{}\"><b>{} {}</b> <span class=\"id\">{}</span> {} \
             <span class=\"evidence\">{}</span></li>",
            class(Some(claim.holds)),
            grid::sign(Some(claim.holds)),
            if claim.holds { "holds" } else { "fails" },
            escape(&claim.id),
            escape(&claim.text),
            escape(&claim.evidence),
        );
    }
    page.push_str("</ul>\n");
}

fn class(agrees: Option<bool>) -> &'static str {
    match agrees {
        Some(true) => "in",
        Some(false) => "out",
        None => "open",
    }
}

/// What stands between back quotes is code.
fn with_code(text: &str) -> String {
    let mut html = String::new();
    let parts: Vec<&str> = text.split('`').collect();
    for (index, part) in parts.iter().enumerate() {
        // A quote that nothing closes stays what it is.
        let quoted = index % 2 == 1;
        let _ = match (quoted, index + 1 < parts.len()) {
            (true, true) => write!(html, "<code>{}</code>", escape(part)),
            (true, false) => write!(html, "`{}", escape(part)),
            (false, _) => write!(html, "{}", escape(part)),
        };
    }
    html
}

/// As text of a page.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
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
    use std::collections::BTreeSet;

    use super::super::example;
    use super::*;

    fn page() -> String {
        render(&[example::table(), example::figure()])
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
        let page = page();
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
        let page = page();
        let document = parsed(&page);
        for node in document.descendants() {
            for attribute in node.attributes() {
                assert!(!attribute.value().contains("//"), "{}", attribute.value());
            }
            assert!(!matches!(node.tag_name().name(), "script" | "link" | "img"));
        }
        assert!(!CSS.contains("url(") && !CSS.contains("@import"));
    }

    #[test]
    fn says_what_agrees_in_words_and_signs() {
        let page = page();
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
    fn back_quotes_mark_code() {
        assert_eq!(with_code("a `b<c` d"), "a <code>b&lt;c</code> d");
        assert_eq!(with_code("a ` b"), "a ` b");
    }

    #[test]
    fn nothing_reported_is_a_page_too() {
        parsed(&render(&[]));
    }
}
