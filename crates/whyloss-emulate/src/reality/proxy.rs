//! The number of datagrams that the proxy forwards, and their processor time.

use std::collections::HashSet;
use std::io;
use std::net::UdpSocket;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::jobs::Job;
use super::{Bench, RealityError, Table, failed, json, number};
use crate::clock::monotonic;
use crate::proxy::dropped;
use crate::proxy::read::{buffers, read};

/// The rate that the proxy must sustain, in datagrams per second.
const PROMISE: u64 = 100_000;
/// The time between two turns of the sender, in nanoseconds.
const TURN: u64 = 500_000;
/// The size of a datagram in bytes: the smallest that QUIC requires.
const DATAGRAM: usize = 1_200;

pub(super) fn proxy(bench: &Bench) -> Result<Table, RealityError> {
    let seconds = if bench.quick { 2 } else { 8 };
    let mut table = Table::new(
        "proxy",
        "UDP without root",
        &format!(
            "`whyloss link --udp` forwards datagrams of {DATAGRAM} bytes for {seconds} s over a link of 10 Gbit/s with 10 ms of delay, from a sender \
             that has a turn every {} ms to a receiver in this process. Faults are datagrams that left more than 10 ms late or that the kernel dropped before \
             the proxy read them. Processor: of the proxy alone, its log included.",
            TURN as f64 / 1e6
        ),
        &[
            "offered, datagrams/s",
            "sent",
            "arrived",
            "lost by the receiver",
            "late p50, ms",
            "late p99, ms",
            "faults",
            "processor, s",
            "µs for each that left",
        ],
    );
    let rates: &[u64] = if bench.quick {
        &[5_000]
    } else {
        &[20_000, 50_000, PROMISE]
    };
    for &rate in rates {
        let directory = bench.directory(&format!("proxy-{rate}"))?;
        let Forwarded {
            sent,
            arrived,
            lost,
        } = forward(bench, &directory, rate, seconds)?;
        let summary = json(&directory.join("log/summary.json"))?;
        let value = |path: &[&str]| number(&summary, path);
        let faults = value(&["faults", "late"])? + value(&["faults", "device"])?;
        let cpu = value(&["cpu_seconds"])?;
        let forwarded = value(&["lateness", "packets"])?;
        table.rows.push(vec![
            rate.to_string(),
            sent.to_string(),
            arrived.to_string(),
            lost.to_string(),
            format!("{:.3}", value(&["lateness", "p50_ns"])? / 1e6),
            format!("{:.3}", value(&["lateness", "p99_ns"])? / 1e6),
            faults.to_string(),
            format!("{cpu:.2}"),
            format!("{:.2}", cpu * 1e6 / forwarded),
        ]);
        table.check(
            format!(
                "{rate} datagrams/s: {arrived} of {sent} arrive, the others are faults or lost by the receiver"
            ),
            sent > 0 && sent - arrived <= faults as u64 + lost,
        );
        if rate == PROMISE {
            table.check_when_quiet(
                format!("{rate} datagrams/s without a fault ({faults})"),
                faults == 0.0 && sent >= rate * seconds * 99 / 100,
            );
        }
        // The log is large and no longer needed.
        let _ = std::fs::remove_dir_all(&directory);
    }
    Ok(table)
}

/// The counts of datagrams.
struct Forwarded {
    sent: u64,
    arrived: u64,
    /// The number of datagrams that left the proxy but found the receiver's buffer full.
    lost: u64,
}

/// Sends datagrams through a proxy at `rate` per second.
fn forward(
    bench: &Bench,
    directory: &Path,
    rate: u64,
    seconds: u64,
) -> Result<Forwarded, RealityError> {
    let io = |what: &str| {
        let what = what.to_owned();
        move |source| RealityError::Io { what, source }
    };
    let target = UdpSocket::bind("127.0.0.1:0").map_err(io("a receiver"))?;
    crate::proxy::prepare(&target).map_err(io("a receiver"))?;
    let (address_file, log) = (directory.join("address"), directory.join("log"));
    let target_address = target.local_addr().map_err(io("a receiver"))?;
    let command = format!(
        "echo $WHYLOSS_UDP >{file}.new; mv {file}.new {file}; sleep {}",
        seconds + 2,
        file = super::quoted(&address_file)
    );
    let (to, log) = (format!("0={target_address}"), log.to_string_lossy());
    let arguments = [
        "link", "--udp", &to, "--rate", "10gbit", "--delay", "10ms", "--queue", "100000", "--log",
        &log, "--", "sh", "-c", &command,
    ];
    let job = Job::new(directory, &arguments);
    let mut child = job.start(bench)?;
    let mut address = String::new();
    for _ in 0..500 {
        if let Ok(text) = std::fs::read_to_string(&address_file) {
            address = text;
            break;
        }
        thread::sleep(Duration::from_millis(20));
    }
    let (arrived, stays) = (AtomicU64::new(0), AtomicBool::new(true));
    let sent = thread::scope(|scope| {
        scope.spawn(|| {
            let buffers = Mutex::new(buffers());
            read(&target, &stays, &buffers, |datagrams| {
                arrived.fetch_add(datagrams.len() as u64, Ordering::Relaxed);
                true
            })
        });
        let sent = send(address.trim(), rate, rate * seconds);
        let finished = job.wait(&mut child, seconds + 60);
        stays.store(false, Ordering::Relaxed);
        finished?.succeeded(&job)?;
        sent.map_err(failed(&address_file))
    })?;
    Ok(Forwarded {
        sent,
        arrived: arrived.into_inner(),
        lost: dropped(&HashSet::from([target_address.port()])),
    })
}

/// Sends datagrams at `rate` per second, a few at each turn. Returns how many the kernel took.
fn send(address: &str, rate: u64, datagrams: u64) -> io::Result<u64> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.connect(address)?;
    let (data, start, mut sent, mut tried) = ([0; DATAGRAM], monotonic(), 0, 0);
    while tried < datagrams {
        let elapsed = monotonic() - start;
        let due = (u128::from(elapsed) * u128::from(rate) / 1_000_000_000) as u64;
        while tried < due.min(datagrams) {
            sent += u64::from(socket.send(&data).is_ok());
            tried += 1;
        }
        thread::sleep(Duration::from_nanos(TURN));
    }
    Ok(sent)
}
