//! Turns a dropped file into the files of `whyloss diagnose --out`, byte for byte.

use std::io::Cursor;
use std::sync::Arc;

use whyloss_diagnose::{Error, Options, diagnose, report};
use whyloss_sim::text::one_line;
use whyloss_study::report::svg;

/// The number of bytes that a diagnosis may use: half of what 32-bit addresses reach, because the
/// file is in the same memory.
const MEMORY: u64 = 1 << 30;

/// Returns the name and contents of each file: `index.html` first, then figures, JSON, CSV and the
/// annotated capture.
///
/// # Errors
/// Returns an error message if the format of the input is unknown, or the input is damaged at its
/// start.
pub fn files(name: &str, file: Vec<u8>) -> Result<Vec<(String, Vec<u8>)>, String> {
    let file: Arc<[u8]> = file.into();
    let reader = || Box::new(Cursor::new(Arc::clone(&file)));
    let options = Options {
        memory: MEMORY,
        ..Options::default()
    };
    let refuse = |error: Error| format!("cannot read `{}`: {error}", one_line(name));
    let diagnosis = diagnose(reader(), options).map_err(refuse)?;
    let mut annotated = Vec::new();
    let is_capture = match report::annotated::write(&diagnosis, reader(), &mut annotated, None) {
        Ok(_) => true,
        // A log has no frames for comments.
        Err(Error::Header { .. } | Error::Piped) => false,
        Err(error) => return Err(refuse(error)),
    };
    let (html, figures) = report::page::page(&diagnosis, &one_line(name), is_capture);
    let mut files = vec![("index.html".to_owned(), html.into_bytes())];
    for figure in &figures {
        files.push((
            format!("{}.svg", figure.name),
            svg::render(figure).into_bytes(),
        ));
    }
    let (mut json, mut csv) = (Vec::new(), Vec::new());
    // Writing to memory cannot fail.
    let written = report::json::write(&diagnosis, None, &mut json)
        .and_then(|()| report::csv::write(&diagnosis, None, &mut csv));
    written.map_err(|error| error.to_string())?;
    files.push(("diagnosis.json".to_owned(), json));
    files.push(("losses.csv".to_owned(), csv));
    if is_capture {
        files.push(("annotated.pcapng".to_owned(), annotated));
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_become_all_files_and_others_are_refused() {
        let capture = include_bytes!("../../../docs/captures/wifi.pcapng.gz");
        let files = files("wifi.pcapng.gz", capture.to_vec()).expect("a capture");
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.first(), Some(&"index.html"));
        assert!(names.ends_with(&["diagnosis.json", "losses.csv", "annotated.pcapng"]));
        let message = super::files("a\nb", b"no capture at all".to_vec()).expect_err("a text");
        assert!(
            message.starts_with("cannot read `a") && !message.contains('\n'),
            "{message}"
        );
    }
}
