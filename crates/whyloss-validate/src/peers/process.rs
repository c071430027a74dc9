//! Runs a peer's process with an input and a time limit.

use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::PeerError;

/// The maximum length of a peer's error message, in characters.
const COMPLAINT: usize = 200;

/// Runs a command with this input and returns its standard output. Kills the command when it takes
/// longer than `limit`.
///
/// # Errors
/// Returns an error if the command does not start, does not end in time, or fails.
pub fn run(command: &mut Command, input: &str, limit: Duration) -> Result<String, PeerError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| PeerError::Start {
            name: name.clone(),
            source,
        })?;
    if let Some(mut stdin) = child.stdin.take() {
        let input = input.to_owned();
        // Ignore errors: a peer that stops reading explains why on its standard error, and the time
        // limit ends one that reads nothing.
        thread::spawn(move || stdin.write_all(input.as_bytes()));
    }
    let (done, ended) = mpsc::channel();
    let output = reader(child.stdout.take(), done.clone());
    let errors = reader(child.stderr.take(), done);
    let in_time = (0..2).all(|_| ended.recv_timeout(limit).is_ok());
    if !in_time {
        end(&mut child);
        return Err(PeerError::TooLong {
            name,
            seconds: limit.as_secs(),
        });
    }
    let status = child.wait().map_err(|source| PeerError::Start {
        name: name.clone(),
        source,
    })?;
    let [output, errors] = [output, errors].map(|thread| thread.join().unwrap_or_default());
    if status.success() {
        return Ok(output);
    }
    let words = if errors.trim().is_empty() {
        output
    } else {
        errors
    };
    Err(PeerError::Failed {
        name,
        status,
        words: complaint(&words),
    })
}

/// Reads a stream to its end in a thread, and then sends a message.
fn reader(
    from: Option<impl Read + Send + 'static>,
    done: mpsc::Sender<()>,
) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            // On an error, the bytes read so far are kept.
            let _ = from.read_to_end(&mut bytes);
        }
        // After the time limit, nothing receives this message.
        let _ = done.send(());
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn end(child: &mut Child) {
    // The process may have ended in the meantime.
    let _ = child.kill();
    let _ = child.wait();
}

/// Returns the beginning of an error message, on one line.
fn complaint(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().take(COMPLAINT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, input: &str) -> Result<String, PeerError> {
        let limit = Duration::from_millis(500);
        run(Command::new("sh").args(["-c", script]), input, limit)
    }

    #[test]
    fn input_goes_in_and_output_comes_out() {
        assert_eq!(shell("cat", "a\nb\n").expect("it ends"), "a\nb\n");
        // Input and output are larger than a pipe.
        assert_eq!(
            shell("seq 100000 >&2; seq 100000", "")
                .expect("it ends")
                .len(),
            588_895
        );
    }

    #[test]
    fn what_goes_wrong_is_said() {
        let failed = shell("echo no such thing >&2; exit 3", "").expect_err("exit 3");
        assert!(failed.to_string().contains("no such thing"), "{failed}");
        let slow = shell("sleep 60", "").expect_err("too slow");
        assert!(slow.to_string().contains("longer"), "{slow}");
        // The input is larger than a pipe, and the command does not read it.
        let deaf = shell("sleep 60", &"x".repeat(1 << 20)).expect_err("too slow");
        assert!(deaf.to_string().contains("longer"), "{deaf}");
        let crash = shell("kill -SEGV $$", "").expect_err("a crash");
        assert!(crash.to_string().contains("signal"), "{crash}");
        let missing = run(
            &mut Command::new("no-such-command"),
            "",
            Duration::from_secs(1),
        );
        assert!(matches!(missing, Err(PeerError::Start { .. })));
    }

    #[test]
    fn complaints_are_short_and_on_one_line() {
        let words = complaint(&"many\nwords ".repeat(100));
        assert!(words.len() <= COMPLAINT && !words.contains('\n'));
    }
}
