//! Runs a call between two sockets on the loopback.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use whyloss_rtc::media::socket::{receive, send};
use whyloss_rtc::media::{Feedback, Settings};
use whyloss_rtc::{Duration, Estimator};

fn settings(feedback: Feedback) -> Settings {
    Settings {
        feedback,
        // The target must rise within two seconds.
        interval: Duration::from_millis(20),
        ..Settings::default()
    }
}

/// In a call between two sockets, frames arrive, reports return, and the target rises above its
/// start.
#[test]
fn a_call_runs_between_two_sockets() {
    for feedback in [Feedback::Twcc, Feedback::Rfc8888] {
        let there = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let here = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        here.connect(there.local_addr().expect("an address"))
            .expect("connects");
        let stop = AtomicBool::new(false);
        let (sent, received) = thread::scope(|scope| {
            let receiver = scope.spawn(|| {
                let settings = settings(feedback);
                receive(&there, &settings, Duration::from_millis(500), &stop)
            });
            let estimator = Box::new(Estimator::new(300e3, 150e3, 1.5e6));
            let (time, patience) = (Duration::from_secs(2), Duration::from_secs(5));
            let sent = send(&here, settings(feedback), estimator, time, patience, &stop);
            (
                sent.expect("sends"),
                receiver.join().expect("no panic").expect("receives"),
            )
        });
        assert!(sent.reports > 10, "{sent:?}");
        assert!(sent.target > 300e3, "{sent:?}");
        assert!(received.shown > 40, "{received:?}");
        assert!(received.packets <= sent.packets, "{received:?} {sent:?}");
    }
}

/// If the peer never answers, the call ends.
#[test]
fn a_silent_peer_ends_the_call() {
    let there = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let here = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    here.connect(there.local_addr().expect("an address"))
        .expect("connects");
    let estimator = Box::new(Estimator::new(300e3, 150e3, 1.5e6));
    let (time, patience) = (Duration::from_secs(60), Duration::from_millis(200));
    let stop = AtomicBool::new(false);
    let error = send(&here, Settings::default(), estimator, time, patience, &stop);
    assert_eq!(
        error.expect_err("silent").kind(),
        std::io::ErrorKind::TimedOut
    );
    stop.store(true, Ordering::Relaxed);
    let nothing = receive(&there, &Settings::default(), patience, &stop).expect("stops");
    assert_eq!(nothing.shown, 0);
}
