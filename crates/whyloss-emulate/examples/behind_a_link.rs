//! Tests an application behind a bad link. Fetches a file by TCP while one packet in twenty is
//! lost, and reads the fate of each packet from the log.
//!
//! ```sh
//! cargo build -p whyloss-emulate --example behind_a_link
//! sudo target/debug/examples/behind_a_link
//! ```
//!
//! A run starts this program again for the roles of [`whyloss_emulate::init`], so `main` calls that
//! function first.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> Result<ExitCode, Box<dyn Error>> {
    use whyloss_emulate::init;

    if let Some(code) = init::play_if_asked("link-init")? {
        return Ok(ExitCode::from(code));
    }
    let log = std::env::temp_dir().join(format!("behind-a-link-{}", std::process::id()));
    let tested = test(&log);
    std::fs::remove_dir_all(&log)?;
    tested?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(target_os = "linux")]
fn test(log: &Path) -> Result<(), Box<dyn Error>> {
    use whyloss::Duration;
    use whyloss_emulate::record::Fate;
    use whyloss_emulate::spec::{Change, Direction, Links};
    use whyloss_emulate::{Options, archive, run};

    let direction = |loss: &str| Direction {
        rate: "10mbit".into(),
        delay: "5ms".into(),
        queue: "100".into(),
        loss: loss.into(),
        ..Direction::default()
    };
    let down = Direction {
        // After three seconds, the channel is clear.
        changes: Change::parse("3s: loss=none")?,
        ..direction("0.05")
    };
    let links = Links::pair(&down, &direction("none"))?;
    let server = "import socket\n\
                  with socket.create_server(('0.0.0.0', 6000)) as listener:\n    \
                  listener.accept()[0].sendall(bytes(1_000_000))";
    let client = "import os, socket\n\
                  server = socket.create_connection((os.environ['WHYLOSS_SERVER'], 6000))\n\
                  assert sum(len(data) for data in iter(lambda: server.recv(65536), b'')) == 1_000_000";
    let python = |program: &str| ["python3", "-c", program].map(Into::into).into();
    let plan = links.both(python(server), python(client));
    let options = Options {
        log: Some(log.to_owned()),
        // A busy machine delays packets; this test tolerates that.
        late_bound: Duration::from_secs(60),
        ..Options::new(run::init_by("link-init")?)
    };
    archive::begin(log, &links, options.seed)?;
    // Without root, the run takes place in a user namespace.
    whyloss_emulate::become_root()?;
    let done = whyloss_emulate::run(&plan, &options, &mut |_| {})?;
    // The run stops the server, unless the server has exited before.
    assert_eq!(done.exits[1], ("client".into(), Some(0)));

    let records = archive::records(log)?;
    let lost: Vec<_> = records
        .iter()
        .filter(|record| record.fate == Fate::Channel)
        .collect();
    assert!(
        lost.iter()
            .all(|record| record.link == "down" && record.scheduled < 3_100_000_000)
    );
    assert_eq!(done.summary.links[0].channel, lost.len() as u64);
    assert!(!lost.is_empty(), "one packet in twenty is lost at first");
    assert_eq!(archive::replay_run(log)?.differences, 0);
    println!(
        "{} of {} packets were lost, and the file arrived",
        lost.len(),
        records.len()
    );
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    eprintln!("links between namespaces need Linux");
}
