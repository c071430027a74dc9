//! Serves a page that follows its command, on the loopback address.
//!
//! `/` is the current page, and `/events` a stream of server-sent events with each new version as a
//! JSON string. A script at the end of the page shows the new version. Both are small enough to be
//! served with the standard library.

pub(crate) mod history;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::error::CliError;

const FOLLOW: &str = include_str!("live/follow.js");

/// The maximum number of simultaneous connections.
const MOST_CONNECTIONS: usize = 16;
/// The maximum size of a request, in bytes.
const LONGEST_REQUEST: u64 = 8 << 10;
/// The time limit for a peer to send a request, and to read an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The time after which a stream without a new version sends a comment, so that a closed connection
/// is noticed.
const SIGN_OF_LIFE: Duration = Duration::from_secs(2);
/// At its end, the command checks this many times, with this pause, whether readers have the last
/// version.
const FAREWELLS: u32 = 100;
const FAREWELL: Duration = Duration::from_millis(10);

/// The time between two versions of a page.
const EVERY: Duration = Duration::from_millis(500);

/// Runs `work`, and calls `show` every [`EVERY`] until it is done.
pub(crate) fn follow<T>(show: impl Fn() + Sync, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let shows = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                show();
                thread::park_timeout(EVERY);
            }
        });
        let _end = End(&over, shows.thread().clone());
        work()
    })
}

/// Stops the calls of `show` when dropped, even by a panic: otherwise the scope would wait forever.
struct End<'a>(&'a AtomicBool, thread::Thread);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.unpark();
    }
}

/// A page on a local port. Dropping it waits until readers have the last version, then ends their
/// streams.
pub(crate) struct Live {
    shared: Arc<Shared>,
    address: SocketAddr,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    connections: AtomicUsize,
    /// The host names that a request may have. Others are rejected, so that no other site can read
    /// the page by DNS rebinding.
    hosts: [String; 2],
}

#[derive(Default)]
struct State {
    version: u64,
    page: Arc<str>,
    over: bool,
}

impl Live {
    /// Starts to serve on a free port, and prints the address on standard error.
    ///
    /// # Errors
    /// Returns an error if no port of the loopback address is free.
    pub(crate) fn start() -> Result<Self, CliError> {
        let live = Self::listen().map_err(CliError::Live)?;
        // Without standard error, the command continues.
        let _ = writeln!(io::stderr(), "page: http://{}/", live.address);
        Ok(live)
    }

    fn listen() -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            changed: Condvar::new(),
            connections: AtomicUsize::new(0),
            hosts: ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", address.port())),
        });
        let serving = Arc::clone(&shared);
        thread::Builder::new()
            .name("live".into())
            .spawn(move || accept(&listener, &serving))?;
        Ok(Self { shared, address })
    }

    /// Replaces the page, and notifies its readers.
    pub(crate) fn show(&self, page: &str) {
        let mut state = self.shared.state();
        if *state.page != *page {
            state.page = page.into();
            state.version += 1;
            self.shared.changed.notify_all();
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.shared.state().over = true;
        self.shared.changed.notify_all();
        for _ in 0..FAREWELLS {
            if self.shared.connections.load(Ordering::SeqCst) == 0 {
                break;
            }
            thread::sleep(FAREWELL);
        }
    }
}

impl Shared {
    /// Locks the state, even after a panic of another thread: a version is replaced as a whole, so
    /// it is never incomplete.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // The process may have too many open files, and others may close soon.
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        if shared.connections.fetch_add(1, Ordering::SeqCst) < MOST_CONNECTIONS {
            let serving = Arc::clone(shared);
            let serve = move || {
                // A reader that disconnected is not an error of the command.
                let _ = answer(&stream, &serving);
                serving.connections.fetch_sub(1, Ordering::SeqCst);
            };
            if thread::Builder::new().spawn(serve).is_ok() {
                continue;
            }
        }
        shared.connections.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Handles one request.
fn answer(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (path, host) = request(stream)?;
    let known = shared.hosts.contains(&host);
    match path.as_deref() {
        Some("/") if known => {
            let page = with_script(&shared.state().page);
            respond(stream, "200 OK", "text/html; charset=utf-8", &page)
        }
        Some("/events") if known => events(stream, shared),
        _ => respond(stream, "404 Not Found", "text/plain", "not here\n"),
    }
}

/// Reads a request. Returns the path if it is a GET request, and the host that it names.
fn request(stream: &TcpStream) -> io::Result<(Option<String>, String)> {
    let mut lines = BufReader::new(stream.take(LONGEST_REQUEST)).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let mut words = first.split(' ');
    let path = words.next().filter(|&method| method == "GET");
    let path = path.and_then(|_| words.next()).map(str::to_owned);
    let mut host = String::new();
    for line in lines {
        let line = line?;
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("host")
        {
            value.trim().clone_into(&mut host);
        }
    }
    Ok((path, host))
}

fn respond(mut stream: &TcpStream, status: &str, kind: &str, body: &str) -> io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Sends an event for each new version, and one when the command ends.
fn events(mut stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n\
         Connection: close\r\n\r\n"
    )?;
    let mut seen = 0;
    loop {
        let mut state = shared.state();
        if state.version == seen && !state.over {
            let waited = shared.changed.wait_timeout(state, SIGN_OF_LIFE);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let (page, version, over) = (Arc::clone(&state.page), state.version, state.over);
        drop(state);
        if version == seen {
            stream.write_all(b":\n\n")?;
        } else {
            seen = version;
            let text = serde_json::Value::from(&*page);
            write!(stream, "data: {text}\n\n")?;
        }
        if over {
            return stream.write_all(b"event: end\ndata:\n\n");
        }
    }
}

/// Adds the script that replaces the page by each new version.
fn with_script(page: &str) -> String {
    let script = format!("<script>{FOLLOW}</script>\n</body>");
    match page.rfind("</body>") {
        Some(at) => format!("{}{script}{}", &page[..at], &page[at + "</body>".len()..]),
        None => format!("<!DOCTYPE html>\n<title>Whyloss</title>\n<body><main></main>{script}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(live: &Live, text: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(live.address).expect("a connection");
        stream.write_all(text.as_bytes()).expect("a request");
        BufReader::new(stream)
    }

    fn get(live: &Live, path: &str, host: &str) -> BufReader<TcpStream> {
        ask(
            live,
            &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        )
    }

    fn all(mut from: BufReader<TcpStream>) -> String {
        let mut text = String::new();
        from.read_to_string(&mut text).expect("an answer");
        text
    }

    #[test]
    fn readers_get_each_version_and_the_end() {
        let live = Live::listen().expect("a port");
        let host = live.address.to_string();
        live.show("<body>\none</body>");
        assert!(all(get(&live, "/", &host)).contains("one<script>"));
        let mut stream = get(&live, "/events", &host);
        let mut next = || {
            let mut line = String::new();
            while !line.starts_with("data") {
                line.clear();
                assert!(stream.read_line(&mut line).expect("a line") > 0);
            }
            line
        };
        assert_eq!(next(), "data: \"<body>\\none</body>\"\n");
        live.show("two");
        assert_eq!(next(), "data: \"two\"\n");
        drop(live);
        assert_eq!(next(), "data:\n");
    }

    #[test]
    fn strangers_are_refused() {
        let live = Live::listen().expect("a port");
        live.show("<body>secret</body>");
        let host = live.address.to_string();
        assert!(live.address.ip().is_loopback());
        // In DNS rebinding, another site's name resolves to this machine.
        let answers = [
            get(&live, "/", "attacker.example"),
            get(&live, "/etc/passwd", &host),
            ask(&live, &format!("POST / HTTP/1.1\r\nHost: {host}\r\n\r\n")),
            ask(&live, "\r\n\r\n"),
        ];
        for answer in answers.map(all) {
            assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
        }
    }
}
