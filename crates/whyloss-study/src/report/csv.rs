//! Writes an outcome as tidy CSV: one row per measured value, with missing fields empty.

use crate::Outcome;

/// The header line, with its newline.
pub const HEADER: &str = "experiment,row,column,x,unit,paper,mean,half_width,confidence,within\n";

/// Returns a complete file: header and rows.
pub fn render(outcome: &Outcome) -> String {
    HEADER.to_owned() + &rows(outcome)
}

/// Returns the rows without the header, so that several outcomes can share one.
pub fn rows(outcome: &Outcome) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for cell in &outcome.cells {
        let number = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
        // Ten fields per record into memory cannot fail.
        let _ = writer.write_record([
            outcome.id.as_str(),
            cell.row.as_str(),
            cell.column.as_str(),
            number(cell.x).as_str(),
            cell.unit,
            number(cell.paper).as_str(),
            number(cell.mean).as_str(),
            number(cell.half_width).as_str(),
            number(cell.half_width.map(|_| outcome.confidence)).as_str(),
            match cell.within() {
                Some(true) => "true",
                Some(false) => "false",
                None => "",
            },
        ]);
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::example;
    use super::*;

    #[test]
    fn table() {
        insta::assert_snapshot!(render(&example::table()));
    }

    #[test]
    fn reads_back() {
        let outcome = example::figure();
        let text = render(&outcome);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let records: Vec<_> = reader.records().map(|r| r.expect("a record")).collect();
        assert_eq!(records.len(), outcome.cells.len());
        for (record, cell) in records.iter().zip(&outcome.cells) {
            assert_eq!(&record[1], cell.row);
            assert_eq!(record[3].parse().ok(), cell.x);
            assert_eq!(record[6].parse().ok(), cell.mean);
        }
    }
}
