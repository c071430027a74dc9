//! A client and a server from other projects, behind a lossy link.

use std::fs;
use std::process::Command;

use super::jobs::Job;
use super::{Bench, RealityError, Table, failed};
use crate::record::Fate;

pub(super) fn web(bench: &Bench) -> Result<Table, RealityError> {
    let size = if bench.quick { 1 << 20 } else { 8 << 20 };
    let mut table = Table::new(
        "web",
        "A browser's kind of traffic",
        &format!(
            "curl fetches a file of {size} bytes from Python's web server over 10 Mbit/s, 20 ms each way, room for 30 packets, with 1 % \
             of the packets towards it lost, and ten small files at the same time. The log has each loss with its cause and TCP's sequence number; tshark, where it is installed, \
             reads the captures of both sides."
        ),
        &[
            "packets towards curl",
            "lost to the queue",
            "lost to the channel",
            "lost data that another copy brought",
            "losses in the capture's comments",
            "file as it was",
        ],
    );
    let directory = bench.directory("web")?;
    let root = directory.join("root");
    fs::create_dir(&root).map_err(failed(&root))?;
    let mut bytes = vec![0; size];
    crate::endpoint::pattern::fill(1, 1, &mut bytes);
    fs::write(root.join("large"), &bytes).map_err(failed(&root))?;
    for i in 0..10 {
        fs::write(root.join(format!("small-{i}")), &bytes[..2_000]).map_err(failed(&root))?;
    }
    let (log, got) = (directory.join("log"), directory.join("got"));
    let server = format!(
        "exec python3 -m http.server 8000 --directory {} >/dev/null 2>&1",
        super::quoted(&root)
    );
    let client = format!(
        "curl -sf -o /dev/null \"http://$WHYLOSS_SERVER:8000/small-[0-9]\" & curl -sf -o {} http://$WHYLOSS_SERVER:8000/large && wait",
        super::quoted(&got)
    );
    let job = Job::new(
        &directory,
        &[
            "link",
            "--rate",
            "10mbit",
            "--delay",
            "20ms",
            "--queue",
            "30",
            "--loss-down",
            "bernoulli:0.01",
            "--late-bound",
            "100ms",
            "--log",
            &log.to_string_lossy(),
            "--both",
            &server,
            &client,
        ],
    );
    job.run(bench, 120)?.succeeded(&job)?;
    let whole = fs::read(&got).map_err(failed(&got))? == bytes;
    let records =
        crate::archive::records(&log).map_err(|error| RealityError::Result(error.to_string()))?;
    let down: Vec<_> = records
        .iter()
        .filter(|record| record.link == "down")
        .collect();
    let count = |fate| down.iter().filter(|record| record.fate == fate).count();
    let (queue, channel) = (count(Fate::Overflow), count(Fate::Channel));
    // A lost segment with data must leave again, or the file would be incomplete.
    let mut again = 0;
    let mut lost_data = 0;
    for lost in down
        .iter()
        .filter(|record| record.fate.is_loss() && record.bytes > 100)
    {
        lost_data += 1;
        again += usize::from(down.iter().any(|later| {
            later.headers.source_port == lost.headers.source_port
                && later.headers.destination_port == lost.headers.destination_port
                && later.arrived()
                && covers(later, lost)
        }));
    }
    let comments = commented(&log.join("server.pcapng"));
    table.rows.push(vec![
        down.len().to_string(),
        queue.to_string(),
        channel.to_string(),
        format!("{again} of {lost_data}"),
        comments.map_or("no tshark".into(), |count| count.to_string()),
        if whole { "yes" } else { "no" }.into(),
    ]);
    table.check("the file arrives as it was".into(), whole);
    table.check(
        format!(
            "the log tells the cause of {} losses, some by the channel",
            queue + channel
        ),
        channel > 0,
    );
    table.check(
        format!("another copy brought every lost segment with data ({again} of {lost_data})"),
        again == lost_data && lost_data > 0,
    );
    if let Some(comments) = comments {
        table.check(
            "the server's capture has a comment for each loss".into(),
            comments == queue + channel,
        );
    }
    let replayed = crate::archive::replay_run(&log)
        .map_err(|error| RealityError::Result(error.to_string()))?;
    table.check(
        format!("the log's {} fates replay", replayed.offers),
        replayed.differences == 0,
    );
    Ok(table)
}

/// Returns whether a later segment contains the first byte of an earlier one.
fn covers(later: &crate::record::Record, lost: &crate::record::Record) -> bool {
    match (later.headers.sequence, lost.headers.sequence) {
        (Some(later_from), Some(from)) => {
            // The headers of IPv4 and of TCP with timestamps have 52 bytes.
            from.wrapping_sub(later_from) < later.bytes.saturating_sub(52).max(1)
        }
        _ => false,
    }
}

/// Returns the number of packets whose comment says that they were lost, by tshark.
fn commented(capture: &std::path::Path) -> Option<usize> {
    let filter = "frame.comment contains \"lost:\"";
    let output = Command::new("tshark")
        .arg("-r")
        .arg(capture)
        .args(["-Y", filter])
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).lines().count())
}
