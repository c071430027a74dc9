//! Answers names for hosts behind a link: relays each query to a name server of the machine, and
//! its answer back.
//!
//! The machine's name server may listen at a loopback address, which no other network namespace can
//! reach.

use std::fs;
use std::io;
use std::net::{
    Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs as _, UdpSocket,
};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::RESOLV_CONF;

const PORT: u16 = 53;
/// The time limit of a name server; most resolvers wait as long.
const PATIENCE: Duration = Duration::from_secs(5);
/// The maximum number of unanswered queries. More queries are dropped, and their hosts repeat them.
const MOST: usize = 64;

/// Relays queries to this address, on separate threads.
pub(super) fn serve(address: Ipv4Addr) -> io::Result<()> {
    let datagrams = match UdpSocket::bind((address, PORT)) {
        // A name server that listens at every address answers these queries itself.
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Ok(()),
        socket => Arc::new(socket?),
    };
    let streams = TcpListener::bind((address, PORT))?;
    let permits = Arc::new(());
    let more = permits.clone();
    thread::spawn(move || {
        let mut query = vec![0; u16::MAX.into()];
        while let Ok((length, from)) = datagrams.recv_from(&mut query) {
            let query = query[..length].to_vec();
            let socket = datagrams.clone();
            spawn(&permits, move || {
                if let Some(answer) = servers().find_map(|server| ask(server, &query).ok()) {
                    // If this fails, the host has gone or repeats its query.
                    let _ = socket.send_to(&answer, from);
                }
            });
        }
    });
    thread::spawn(move || {
        for stream in streams.incoming().map_while(Result::ok) {
            spawn(&more, move || {
                let connected =
                    servers().find_map(|server| TcpStream::connect_timeout(&server, PATIENCE).ok());
                if let Some(server) = connected {
                    // If either end closes, the relay ends.
                    let _ = relay(&stream, &server);
                }
            });
        }
    });
    Ok(())
}

/// Runs a task on a thread, unless the maximum number of tasks is running. Each holds a reference
/// of `permits`.
fn spawn(permits: &Arc<()>, task: impl FnOnce() + Send + 'static) {
    if Arc::strong_count(permits) <= MOST {
        let permit = permits.clone();
        thread::spawn(move || {
            task();
            drop(permit);
        });
    }
}

/// Returns the machine's current name servers. If none is configured, it is the machine itself
/// (resolv.conf(5)).
fn servers() -> impl Iterator<Item = SocketAddr> {
    let text = fs::read_to_string(RESOLV_CONF).unwrap_or_default();
    let servers = text.lines().filter_map(|line| {
        let address = line.strip_prefix("nameserver")?.trim();
        // Also accepts a zone (fe80::1%eth0).
        (address, PORT).to_socket_addrs().ok()?.next()
    });
    let mut servers: Vec<_> = servers.collect();
    if servers.is_empty() {
        servers.push((Ipv4Addr::LOCALHOST, PORT).into());
    }
    servers.into_iter()
}

fn ask(server: SocketAddr, query: &[u8]) -> io::Result<Vec<u8>> {
    let any = if server.is_ipv4() {
        "0.0.0.0:0"
    } else {
        "[::]:0"
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.send(query)?;
    let mut answer = vec![0; u16::MAX.into()];
    let length = socket.recv(&mut answer)?;
    answer.truncate(length);
    Ok(answer)
}

/// Copies in both directions until both ends have closed, or either is silent for too long.
fn relay(host: &TcpStream, server: &TcpStream) -> io::Result<()> {
    for stream in [host, server] {
        stream.set_read_timeout(Some(PATIENCE))?;
    }
    let copy = |mut from: &TcpStream, mut to: &TcpStream| {
        let copied = io::copy(&mut from, &mut to);
        to.shutdown(Shutdown::Write)?;
        copied
    };
    thread::scope(|scope| {
        scope.spawn(|| copy(host, server));
        copy(server, host)
    })?;
    Ok(())
}
