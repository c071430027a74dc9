//! `whyloss link` with real packets. Most tests need root, and run with `-- --ignored`.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use whyloss_emulate::archive;
use whyloss_emulate::record::{Fate, Record};

/// An empty directory for one test.
fn directory(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("link-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

/// `whyloss link` with these arguments.
fn link(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_whyloss"));
    command.arg("link").args(arguments);
    command
}

/// Panics with the output of the program unless it succeeded.
fn succeed(output: &Output) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}", output.status);
}

/// The Python program next to the tests, as a shell command.
fn python(program: &str, argument: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/link")
        .join(program);
    format!("exec /usr/bin/python3 '{}' {argument}", path.display())
}

/// Returns how many packets crossed the link upwards, by size, for a protocol and IP version.
fn sizes(records: &[Record], protocol: u8, is_ipv6: bool) -> BTreeMap<u32, usize> {
    let mut sizes = BTreeMap::new();
    for record in records {
        let headers = &record.headers;
        if record.link == "up"
            && headers.protocol == protocol
            && headers.source.is_ipv6() == is_ipv6
        {
            *sizes.entry(record.bytes).or_default() += 1;
        }
    }
    sizes
}

/// Runs `packets.py` with this MTU; returns its log.
fn packets(mtu: &str) -> Vec<Record> {
    let log = directory(&format!("packets-{mtu}"));
    let (server, client) = (
        python("packets.py", "server"),
        python("packets.py", "client"),
    );
    let log_text = log.to_string_lossy();
    let run = link(&[
        "--rate=50mbit",
        "--delay=5ms",
        "--queue=1000",
        "--late-bound=1s",
        "--mtu",
        mtu,
        "--log",
        &log_text,
        "--both",
        &server,
        &client,
    ]);
    succeed(&{ run }.output().unwrap());
    let replayed = archive::replay_run(&log).unwrap();
    assert_eq!(replayed.first, None);
    archive::records(&log).unwrap()
}

/// A datagram of 4,000 bytes makes three fragments of 1,500 at most: 1,480 bytes of payload each
/// for IPv4, 1,448 for IPv6.
#[test]
#[ignore = "needs root"]
fn ipv6_fragments_and_any_protocol_pass() {
    let records = packets("1500");
    for (is_ipv6, header) in [(false, 20), (true, 40)] {
        let datagrams = sizes(&records, 17, is_ipv6);
        let fragments = if is_ipv6 {
            [(1_496, 2), (1_160, 1)]
        } else {
            [(1_500, 2), (1_068, 1)]
        };
        // The kernel splits the segments of one call into the ten packets of the wire.
        let segments = [(header + 8 + 1_000, 10)];
        assert_eq!(datagrams, fragments.into_iter().chain(segments).collect());
        assert_eq!(
            sizes(&records, 253, is_ipv6),
            BTreeMap::from([(header + 3, 1)])
        );
        assert_eq!(
            sizes(&records, 6, is_ipv6).last_key_value().unwrap().0,
            &1_500
        );
    }
}

#[test]
#[ignore = "needs root"]
fn large_packets_pass_whole() {
    let records = packets("9000");
    for (is_ipv6, header) in [(false, 20), (true, 40)] {
        let whole = BTreeMap::from([(header + 8 + 4_000, 1), (header + 8 + 1_000, 10)]);
        assert_eq!(sizes(&records, 17, is_ipv6), whole);
        assert_eq!(
            sizes(&records, 6, is_ipv6).last_key_value().unwrap().0,
            &9_000
        );
    }
}

/// Links that report fates at later events, one behind the other.
const EVENTS: &str = r#"
[[link]]
from = "server"
to = "a"
rate = "20 Mbit/s"
delay = "2 ms"
queue = { packets = 500, aqm = "fq-codel" }
jitter = { kind = "exponential", mean = "500 us", in_order = false }

[[link]]
from = "a"
to = "b"
rate = "20 Mbit/s"
delay = "2 ms"
queue = { packets = 500 }
channel = { kind = "bernoulli", loss = 0.2 }
arq = { tries = 2, turnaround = "1 ms" }
handovers = [{ at = "800 ms", pause = "50 ms", waiting = "kept" }]

[[link]]
from = "b"
to = "client"
rate = "4 Mbit/s"
delay = "2 ms"
queue = { packets = 500, aqm = { kind = "codel", target = "2 ms", interval = "20 ms" } }
"#;

/// TCP crosses CoDel, FQ-CoDel, ARQ, jitter and a handover; the log replays fate for fate, and the
/// losses are those of the links.
#[test]
#[ignore = "needs root"]
fn links_with_events_run_in_real_time() {
    let log = directory("events");
    let file = log.join("links.toml");
    fs::write(&file, EVENTS).unwrap();
    let (server, client) = (python("bulk.py", "server"), python("bulk.py", "client"));
    let (file, log_text) = (file.to_string_lossy(), log.to_string_lossy());
    let arguments = ["--late-bound=1s", "--log", &log_text];
    let run = [&[&*file][..], &arguments, &["--both", &server, &client]].concat();
    succeed(&link(&run).output().unwrap());
    let replayed = archive::replay_run(&log).unwrap();
    assert_eq!(replayed.first, None);
    let records = archive::records(&log).unwrap();
    assert_eq!(replayed.offers, records.len() as u64);
    let lost = |link: &str, fate: Fate| {
        let here = records.iter().filter(|record| record.link == link);
        here.filter(|record| record.fate == fate).count()
    };
    assert!(lost("client->b", Fate::Aqm) > 0, "CoDel drops");
    assert!(
        lost("a->b", Fate::Channel) > 0,
        "two tries may both be lost"
    );
    assert_eq!(lost("client->b", Fate::Channel), 0);
    assert_eq!(lost("a->b", Fate::Aqm), 0);
    let whole = records.iter().all(|record| record.fate != Fate::Fault);
    assert!(whole, "the emulator was late");
}

/// Runs a shell command in separate namespaces, with a substitute for the Internet
/// (`link/world.sh`). In the command, `$1` is the `whyloss` command and `$2` the directory of the
/// scripts.
fn world(command: &str) -> Output {
    world_command(command).output().unwrap()
}

/// See [`world`].
fn world_command(command: &str) -> Command {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/link");
    let (program, here) = (env!("CARGO_BIN_EXE_whyloss"), here.display());
    let command = format!("set -- '{program}' '{here}'\n{command}");
    let mut world = Command::new("unshare");
    world.args(["--net", "--mount", "sh"]);
    world
        .arg(format!("{here}/world.sh"))
        .arg(here.to_string())
        .arg(command);
    world
}

/// A server on the Internet sees the machine's addresses and has no route to those of the run.
#[test]
#[ignore = "needs root"]
fn the_internet_is_behind_the_link() {
    internet_behind("eth0");
}

#[test]
#[ignore = "needs root"]
fn the_internet_is_behind_wifi() {
    internet_behind("wlan0");
}

/// Fetches a page by IPv4 and IPv6, with a name from DNS, over the machine's device `uplink`.
fn internet_behind(uplink: &str) {
    let log = directory(&format!("internet-{uplink}"));
    let fetch =
        "for way in -4 -6; do curl --silent --show-error $way http://site.test/; echo; done";
    let mut command = world_command(&format!(
        "\"$1\" link --internet --delay 5ms --late-bound 1s --quiet --log '{}' -- sh -c '{fetch}'",
        log.display()
    ));
    let output = command.env("UPLINK", uplink).output().unwrap();
    succeed(&output);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "192.0.2.2\n2001:db8:1::2\n"
    );
    let records = archive::records(&log).unwrap();
    // DNS queries also went through the link.
    for (protocol, port) in [(17, 53), (6, 80)] {
        let crossed = |record: &&Record| {
            let headers = &record.headers;
            headers.protocol == protocol && headers.destination_port == Some(port)
        };
        assert!(
            records.iter().any(|record| crossed(&record)),
            "protocol {protocol}"
        );
    }
}

#[test]
#[ignore = "needs root"]
fn two_ways_to_the_internet_do_not_disturb_each_other() {
    let output = world(
        "\"$1\" link --internet --quiet --late-bound 1s -- sleep 1 & first=$!\n\
         \"$1\" link --internet --quiet --late-bound 1s -- sh -c 'sleep 2; curl --silent http://site.test/'\n\
         wait $first; cat /proc/sys/net/ipv4/conf/eth0/forwarding",
    );
    succeed(&output);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "192.0.2.20\n");
}

/// Docker, for one, makes the machine forward while a run has its way to the Internet open.
#[test]
#[ignore = "needs root"]
fn the_machine_keeps_forwarding_if_it_began_during_a_run() {
    let output = world(
        "\"$1\" link --internet --quiet --late-bound 1s -- sleep 2 & run=$!\n\
         cd /proc/sys/net/ipv4; until grep --quiet 1 conf/eth0/forwarding; do sleep 0.01; done\n\
         echo 1 >ip_forward; wait $run; cat conf/eth0/forwarding",
    );
    succeed(&output);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "1\n");
}

#[test]
#[ignore = "needs root"]
fn nothing_is_left_after_kill_9() {
    let command = "unshare --pid --fork --mount-proc sh \"$2/kill.sh\" \"$1\"";
    succeed(&world(command));
}

/// Each message names the missing part and the way to get it.
#[test]
#[ignore = "needs root"]
fn missing_parts_are_named() {
    for (prepare, expected) in [
        ("PATH=/nonexistent", "apt-get install nftables"),
        ("mount -t tmpfs tmpfs /dev/net;", "--device /dev/net/tun"),
        (
            "exec setpriv --reuid 65534 --regid 65534 --clear-groups",
            "run it with sudo",
        ),
    ] {
        let program = env!("CARGO_BIN_EXE_whyloss");
        let command = format!("{prepare} '{program}' link --internet -- /bin/true");
        let mut shell = Command::new("unshare");
        let output = shell
            .args(["--net", "--mount", "sh", "-c", &command])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            (output.status.code(), text.contains(expected)),
            (Some(2), true),
            "{text}"
        );
    }
}

#[test]
#[ignore = "needs root"]
fn a_command_that_cannot_start_gives_one_message() {
    for ways in [&[][..], &["--udp", "0=127.0.0.1:9", "--quiet"]] {
        for program in ["whyloss-no-such-program", "/dev/null"] {
            let arguments = [ways, &["--", program]].concat();
            let output = link(&arguments).output().unwrap();
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(127), "{text}");
            assert!(
                text.contains(program) && text.lines().count() == 1,
                "{text}"
            );
        }
    }
}

#[test]
#[ignore = "needs root, chromium, and target/python with aioquic"]
fn a_browser_loads_a_page() {
    let key = directory("browser").join("key");
    // CI creates this environment for the Python package.
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin/python3");
    let mut command = world_command("sh \"$2/browse.sh\" \"$1\" bernoulli:0.02");
    command.env("QUIC_PYTHON", python).env("QUIC_KEY", key);
    let output = command.output().unwrap();
    succeed(&output);
    let text = String::from_utf8_lossy(&output.stdout);
    let words: Vec<Vec<_>> = text.lines().map(|line| line.split(' ').collect()).collect();
    // "721 ms http/1.1 192.0.2.2 "
    let seen: Vec<_> = words.iter().map(|words| words[1..].join(" ")).collect();
    let expected = ["192.0.2.2", "2001:db8:1::2"]
        .map(|address| ["http/1.1", "h3"].map(|protocol| format!("ms {protocol} {address} ")));
    assert_eq!(seen, expected.concat(), "{text}");
}

/// Sends 1,000 datagrams over four seconds; the server accepts any number.
const STEADY: [&str; 2] = [
    "exec python3 -c \"import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.bind(('', 6000))\nwhile s.recv(9): pass\"",
    "exec python3 -c \"import os, socket, time; s = socket.socket(type=socket.SOCK_DGRAM)\n\
     for i in range(1000): s.sendto(b'datagram', (os.environ['WHYLOSS_SERVER'], 6000)); time.sleep(0.004)\"",
];

/// The channel and the delay change at 2 s, and again at 3 s; the log records it and replays.
#[test]
#[ignore = "needs root"]
fn a_link_changes_at_its_time() {
    let log = directory("at-time");
    let log_text = log.to_string_lossy();
    let [server, client] = STEADY;
    let run = link(&[
        "--delay=5ms",
        "--late-bound=60s",
        "--at-time",
        "2s: loss-up=1 delay-up=50ms",
        "--at-time=3s: loss=none queue=3",
        "--log",
        &log_text,
        "--both",
        server,
        client,
    ]);
    succeed(&{ run }.output().unwrap());
    assert_eq!(archive::replay_run(&log).unwrap().differences, 0);
    let records = archive::records(&log).unwrap();
    assert!(records.len() >= 1_000);
    let mut seen = [0; 3];
    for record in records.iter().filter(|record| record.link == "up") {
        let left = record.scheduled;
        let part = match record.enqueued {
            // A packet in transmission during the change counts in neither part.
            0..1_999_000_000 => 0,
            2_000_000_000..2_999_000_000 => 1,
            3_000_000_000.. => 2,
            _ => continue,
        };
        seen[part] += 1;
        assert_eq!(record.fate == Fate::Channel, part == 1, "{record:?}");
        let delay = [5, 0, 50][part] * 1_000_000;
        assert!(left >= record.enqueued + delay, "{record:?}");
        assert!(left < record.enqueued + delay + 1_000_000, "{record:?}");
    }
    assert!(seen.iter().all(|seen| *seen > 20), "{seen:?}");
}

/// Runs the steps of the guide's workflow with this build instead of the installed one.
#[test]
#[ignore = "needs root"]
fn the_workflow_of_the_guide_works() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("docs/guides/behind-a-link.yml")).unwrap();
    let mut steps: Vec<String> = Vec::new();
    let mut is_run = false;
    for line in text.lines() {
        if line.trim() == "run: |" {
            is_run = true;
            steps.push(String::new());
        } else if is_run && line.starts_with("          ") {
            let step = steps.last_mut().unwrap();
            step.push_str(line.trim());
            step.push('\n');
        } else {
            is_run = false;
        }
    }
    assert_eq!(steps.len(), 3);
    let place = directory("workflow");
    fs::copy(root.join("README.md"), place.join("README.md")).unwrap();
    let programs = Path::new(env!("CARGO_BIN_EXE_whyloss")).parent().unwrap();
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    for step in &steps[1..] {
        let step = step
            .replace("sudo whyloss", "whyloss")
            .replace("--late-bound 1s", "--late-bound 60s");
        let mut shell = Command::new("bash");
        shell
            .args(["-euc", &step])
            .current_dir(&place)
            .env("PATH", &path);
        succeed(&shell.output().unwrap());
    }
}

/// A command has four seconds to end, also while packets arrive all the time.
#[test]
#[ignore = "needs root"]
fn a_command_ends_in_its_own_time() {
    let done = directory("grace").join("done");
    let server = format!(
        "exec python3 -c \"import os, signal, socket, time\n\
         s = socket.socket(type=socket.SOCK_DGRAM); s.bind(('', 6000))\n\
         def end(*_):\n  \
           for i in range(1000): s.sendto(b'datagram', (os.environ['WHYLOSS_CLIENT'], 9)); time.sleep(0.001)\n  \
           open('{}', 'w').close(); os._exit(0)\n\
         signal.signal(signal.SIGTERM, end)\n\
         while True: signal.pause()\"",
        done.display()
    );
    let arguments = ["--late-bound=60s", "--delay=1ms", "--both", &server, "true"];
    succeed(&link(&arguments).output().unwrap());
    assert!(done.exists(), "the server was killed");
}

/// Packets that were on the link when its device failed are in the log.
#[test]
#[ignore = "needs root"]
fn a_failed_device_leaves_a_whole_log() {
    let place = directory("failed");
    let (log, sent) = (place.join("log"), place.join("sent"));
    let send = format!(
        "import os, socket, time; s = socket.socket(type=socket.SOCK_DGRAM)\n\
         for i in range(100): s.sendto(b'datagram', (os.environ['WHYLOSS_SERVER'], 6000))\n\
         time.sleep(0.2); open('{}', 'w').close(); time.sleep(60)",
        sent.display()
    );
    let command = format!(
        "\"$1\" link --rate=100mbit --delay=60s --queue=unlimited --log '{}' -- python3 -c \"$2\" & run=$!\n\
         while kill -0 $run && [ ! -e '{}' ]; do sleep 0.01; done; ip link delete whylink6441; wait $run",
        log.display(),
        sent.display()
    );
    let mut shell = Command::new("unshare");
    let shell = shell.args(["--net", "sh", "-c", &command, "-"]);
    let output = shell.args([env!("CARGO_BIN_EXE_whyloss"), &send]).output();
    let output = output.unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("the device of server failed"), "{text}");
    let records = archive::records(&log).unwrap();
    let left = records
        .iter()
        .filter(|record| record.fate == Fate::Unfinished);
    assert_eq!(left.count(), 100);
}

/// A firewall rejects a datagram to the target; later ones and their answers pass.
#[test]
#[ignore = "needs root"]
fn an_icmp_error_does_not_cut_off_a_client() {
    let command = "ip link set lo up\n\
         nft 'table inet wall { chain in { type filter hook input priority 0; udp dport 6000 reject with icmpx admin-prohibited; }; }'\n\
         exec \"$1\" link --udp 5000=127.0.0.1:6000 --delay 1ms --late-bound 60s -- python3 -c \"$2\"";
    let client = "import socket, subprocess, time\n\
         target, client = socket.socket(type=socket.SOCK_DGRAM), socket.socket(type=socket.SOCK_DGRAM)\n\
         target.bind(('127.0.0.1', 6000)); target.settimeout(10); client.settimeout(10)\n\
         client.sendto(b'rejected', ('127.0.0.1', 5000)); time.sleep(0.5)\n\
         subprocess.run(['nft', 'delete table inet wall'], check=True)\n\
         client.sendto(b'question', ('127.0.0.1', 5000))\n\
         question, address = target.recvfrom(100); target.sendto(b'answer', address)\n\
         assert (question, client.recv(100)) == (b'question', b'answer')";
    let mut shell = Command::new("unshare");
    let shell = shell.args(["--net", "sh", "-ec", command, "-"]);
    let shell = shell.args([env!("CARGO_BIN_EXE_whyloss"), client]);
    succeed(&shell.output().unwrap());
}

/// Runs a proxy with at most 64 open files, and sends datagrams of 100 more clients than one.
/// Returns the number of strays. The first client gets an answer before and afterwards.
fn flood(limit: &str) -> u64 {
    let log = directory(&format!("flood{limit}"));
    let sockets = || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let patience = Some(Duration::from_mins(1));
        socket.set_read_timeout(patience).unwrap();
        socket
    };
    let (target, first) = (sockets(), sockets());
    let command = "ulimit $3 -n 64; exec \"$0\" link --udp 0=$1 --delay 1ms --late-bound 60s --log \"$2\" -- cat";
    let mut run = Command::new("sh")
        .args(["-c", command, env!("CARGO_BIN_EXE_whyloss")])
        .arg(target.local_addr().unwrap().to_string())
        .args([log.as_os_str(), limit.as_ref()])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    let mut output = BufReader::new(run.stderr.take().unwrap());
    output.read_line(&mut said).unwrap();
    // "forwarding UDP from 127.0.0.1:40000 to 127.0.0.1:6000"
    let proxy = said.split(' ').nth(3).unwrap_or_else(|| panic!("{said}"));
    let ask = || {
        let mut data = [0; 9];
        first.send_to(b"question", proxy).unwrap();
        loop {
            let (length, from) = target.recv_from(&mut data).unwrap();
            if &data[..length] == b"question" {
                target.send_to(b"answer", from).unwrap();
                break;
            }
        }
        assert_eq!(first.recv(&mut data).unwrap(), 6);
    };
    ask();
    let others: Vec<_> = (0..100).map(|_| sockets()).collect();
    for other in &others {
        other.send_to(b"flood", proxy).unwrap();
    }
    ask();
    // The command ends at the end of its input, and the run with it.
    drop(run.stdin.take());
    output.read_to_string(&mut said).unwrap();
    assert!(run.wait().unwrap().success(), "{said}");
    let summary = fs::read_to_string(log.join("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    summary["strays"].as_u64().unwrap()
}

/// Clients for which there is no socket do not disturb the others.
#[test]
fn a_flood_of_clients_ends_nothing() {
    assert!((30..100).contains(&flood("")));
}

#[test]
fn a_proxy_opens_as_many_files_as_it_may() {
    assert_eq!(flood("-S"), 0);
}

/// Sends datagrams for eight seconds at random times: 4,000 a second, with pauses of 50 ms on
/// average. The pauses distinguish states that last for a time from states that last for a number
/// of packets. The server accepts any number.
const RANDOM: [&str; 2] = [
    STEADY[0],
    "exec python3 -c \"import os, random, socket, time; s = socket.socket(type=socket.SOCK_DGRAM); random.seed(1)\n\
     start = due = time.monotonic()\n\
     while due < start + 8:\n    \
     due += random.expovariate(4000) + (random.random() < 0.02) * random.expovariate(20)\n    \
     time.sleep(max(0, due - time.monotonic()))\n    \
     s.sendto(b'datagram', (os.environ['WHYLOSS_SERVER'], 6000))\"",
];

/// `whyloss fit` with these arguments, as JSON.
fn fit(arguments: &[&str]) -> serde_json::Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_whyloss"));
    command.arg("fit").args(arguments);
    let output = command.args(["--format", "json"]).output().unwrap();
    succeed(&output);
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the value of a fit's parameter in a channel: `loss = 0.1`, `mean_bad = "20 ms"`, and for
/// `lengths[2]` the second of `lengths = [0.8, 0.2]`.
fn number_in(channel: &str, parameter: &str) -> f64 {
    let (key, place) = parameter.split_once('[').unwrap_or((parameter, "1]"));
    let (_, rest) = channel.split_once(&format!("{key} = ")).unwrap();
    let list = rest.trim_start_matches(['[', '"']);
    let place: usize = place.trim_end_matches(']').parse().unwrap();
    let mut words = list.split([',', ']', '"', '}']);
    let number = words.nth(place - 1).unwrap().trim();
    match number.split_once(' ') {
        Some((millis, _)) => millis.parse::<f64>().unwrap() / 1e3,
        None => number.parse().unwrap(),
    }
}

/// A link runs with a fitted channel, and a fit to its log finds that channel again. The limit is
/// three standard errors, one and a half times the 95 % interval. With nine parameters, one would
/// be outside the interval itself by chance in every third test.
#[test]
#[ignore = "needs root"]
fn a_log_has_the_channel_that_was_fitted() {
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/captures/radio.csv");
    let fitted = fit(&[&recording.to_string_lossy()]);
    let fitted = fitted["channel"].as_str().unwrap();
    // States last about as long as the pauses of `RANDOM`, so many of them change during a pause.
    let timed = "{ kind = \"timed-gilbert-elliott\", mean_good = \"100 ms\", mean_bad = \"50 ms\", loss_bad = 0.6 }";
    let channels = [
        fitted,
        "{ kind = \"bernoulli\", loss = 0.1 }",
        "{ kind = \"gilbert-elliott\", loss = 0.05, stay = 0.3 }",
        timed,
    ];
    for (number, channel) in channels.into_iter().enumerate() {
        let log = directory(&format!("round-trip-{number}"));
        let log_text = log.to_string_lossy();
        let [server, client] = RANDOM;
        let run = link(&[
            "--rate=1gbit",
            "--delay=1ms",
            "--queue=unlimited",
            "--late-bound=60s",
            "--loss-up",
            channel,
            "--log",
            &log_text,
            "--both",
            server,
            client,
        ]);
        succeed(&{ run }.output().unwrap());
        let found = fit(&[&log_text]);
        let again = found["channel"].as_str().unwrap();
        let kind = |channel: &str| channel.split('"').nth(1).unwrap().to_owned();
        assert_eq!(kind(again), kind(channel), "{again}");
        let models = found["models"].as_array().unwrap();
        let model = models.iter().find(|model| model["channel"] == *again);
        for parameter in model.unwrap()["parameters"].as_array().unwrap() {
            let name = parameter["name"].as_str().unwrap();
            let value = parameter["value"].as_f64().unwrap();
            let truth = number_in(channel, name);
            let interval: Vec<f64> = serde_json::from_value(parameter["interval"].clone()).unwrap();
            let [least, most] = [0, 1].map(|end| value + 1.5 * (interval[end] - value));
            println!(
                "{channel}: {name} {truth} found {value} ({} to {})",
                interval[0], interval[1]
            );
            assert!(
                least <= truth && truth <= most,
                "{channel}: {name} {truth}, found {parameter}"
            );
        }
    }
}
