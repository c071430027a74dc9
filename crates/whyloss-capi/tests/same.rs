//! Compares decisions through C with those of Rust, event by event, and counts allocations.
//!
//! `WHYLOSS_EVENTS=1000000` compares a million events for each scheme and receiver.
#![allow(unsafe_code, reason = "calls C")]

use std::alloc::{Layout, alloc, dealloc};
use std::ffi::CString;
use std::ptr::{null, null_mut};

use whyloss::connection::Connection;
use whyloss::losses::LossTracker;
use whyloss::receiver::Arrival;
use whyloss::{Cause, Duration, Time, receiver, schemes};
use whyloss_capi::media::{
    Media, MediaOptions, MediaReport, MediaState, whyloss_media_drop, whyloss_media_init,
    whyloss_media_next_timeout, whyloss_media_on_reports, whyloss_media_on_timeout,
    whyloss_media_size, whyloss_media_target,
};
use whyloss_capi::receiver::{
    Arrived, Loss, MOST_LOSSES, NEVER, ReceiverOptions, whyloss_receiver_drop,
    whyloss_receiver_init, whyloss_receiver_on_packet, whyloss_receiver_size,
};
use whyloss_capi::scheme::{
    Allowance, Found, Scheme, SchemeOptions, UNPACED, Verdict, whyloss_scheme_allowance,
    whyloss_scheme_drop, whyloss_scheme_init, whyloss_scheme_on_acked,
    whyloss_scheme_on_acked_through, whyloss_scheme_on_ecn, whyloss_scheme_on_lost,
    whyloss_scheme_on_rtt, whyloss_scheme_on_sent, whyloss_scheme_on_spurious,
    whyloss_scheme_on_timeout, whyloss_scheme_size, whyloss_scheme_verdict,
};
use whyloss_capi::{ABI, Status, Why, whyloss_status_text};
use whyloss_rtc::{Ecn, Estimator, Fate, Report};

/// A generator of whole numbers that are the same in every run.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Returns the number of events that the environment requests.
fn events(default: u64) -> u64 {
    let asked = std::env::var("WHYLOSS_EVENTS").ok();
    asked.map_or(default, |count| count.parse().expect("a number of events"))
}

/// Memory for an object of C.
struct Memory<T> {
    object: *mut T,
    layout: Layout,
}

impl<T> Memory<T> {
    fn new(size: usize) -> Self {
        let layout = Layout::from_size_align(size, 16).unwrap();
        // SAFETY: no object has a size of zero.
        let object = unsafe { alloc(layout) }.cast();
        Self { object, layout }
    }
}

impl<T> Drop for Memory<T> {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated with this layout.
        unsafe { dealloc(self.object.cast(), self.layout) }
    }
}

fn options(name: &CString, packets: usize) -> SchemeOptions {
    SchemeOptions {
        abi: ABI,
        mtu: 1200,
        name: name.as_ptr(),
        parameters: null(),
        packets,
    }
}

fn nothing() -> Verdict {
    Verdict {
        cause: Why::Unknown,
        found: Found::None,
        odds: f64::NAN,
        at_ns: 0,
    }
}

fn same(c: &Verdict, rust: Option<whyloss::connection::Verdict>) -> bool {
    match rust {
        None => c.found == Found::None && c.cause == Why::Unknown,
        Some(rust) => {
            c.cause == Why::from(rust.cause)
                && c.odds.to_bits() == rust.odds.unwrap_or(f64::NAN).to_bits()
                && c.at_ns == rust.at.as_nanos()
        }
    }
}

/// Passes one event to both connections.
fn event(
    c: *mut Scheme,
    rust: &mut Connection,
    draws: &mut Draws,
    state: &mut (u64, u64, Vec<u64>),
) {
    let (number, now, open) = state;
    *now += draws.below(3_000_000);
    let at = Time::from_nanos(*now);
    let mut said = nothing();
    // SAFETY: `c` is live, and all pointers are valid for these calls.
    unsafe {
        match draws.below(100) {
            0..50 if open.len() < 4000 => {
                let app_limited = draws.below(10) == 0;
                let status = whyloss_scheme_on_sent(c, *number, 1200, *now, app_limited.into());
                assert_eq!(status, Status::Ok);
                rust.on_packet_sent(*number, 1200, at, app_limited);
                open.push(*number);
                *number += 1 + draws.below(20) / 19;
            }
            0..95 => {
                let some = (draws.below(4) as usize).min(open.len());
                let first = (draws.below(3) as usize).min(open.len() - some);
                let acked: Vec<u64> = open.drain(first..first + some).collect();
                if draws.below(2) == 0 {
                    let rtt = draws.below(100_000_000);
                    assert_eq!(whyloss_scheme_on_rtt(c, rtt), Status::Ok);
                    rust.on_rtt(Duration::from_nanos(rtt as i64));
                }
                let status = match acked.last() {
                    // The numbers in between that are not open were settled before.
                    Some(&through) if draws.below(2) == 0 => {
                        let missing = &open[..first];
                        let (missing, count) = (missing.as_ptr(), missing.len());
                        whyloss_scheme_on_acked_through(c, through, missing, count, *now)
                    }
                    _ => whyloss_scheme_on_acked(c, acked.as_ptr(), acked.len(), *now),
                };
                assert_eq!(status, Status::Ok);
                rust.on_packets_acked(acked, at);
            }
            95..98 if open.len() > 4 => {
                let lost: Vec<u64> = open.drain(..=draws.below(2) as usize).collect();
                let status =
                    whyloss_scheme_on_lost(c, lost.as_ptr(), lost.len(), *now, &raw mut said);
                assert_eq!(status, Status::Ok);
                assert!(same(&said, rust.on_packets_lost(lost, at)));
            }
            98 => {
                assert_eq!(whyloss_scheme_on_ecn(c, *now), Status::Ok);
                rust.on_ecn_ce(at);
            }
            _ if draws.below(20) == 0 => {
                let status = whyloss_scheme_on_timeout(c, *now, &raw mut said);
                assert_eq!(status, Status::Ok);
                assert!(same(&said, Some(rust.on_timeout(at))));
            }
            _ => {
                assert_eq!(whyloss_scheme_on_spurious(c, *now), Status::Ok);
                rust.on_spurious(at);
            }
        }
    }
}

#[test]
fn every_scheme_decides_alike_and_allocates_at_init_alone() {
    for (index, entry) in schemes::REGISTRY.iter().enumerate() {
        let mut draws = Draws(index as u64 + 1);
        let mut rust = Connection::new(&entry.build(&[]).unwrap(), 1200).most_packets(4096);
        rust.reserve().unwrap();
        let memory = Memory::new(whyloss_scheme_size());
        let (c, name) = (memory.object, CString::new(entry.id).unwrap());
        let options = options(&name, 4096);
        // SAFETY: the memory has the required size, and the options are live.
        let status = unsafe {
            whyloss_scheme_init(
                c,
                whyloss_scheme_size(),
                &raw const options,
                std::ptr::null_mut(),
                0,
            )
        };
        assert_eq!(status, Status::Ok, "{}", entry.id);
        let mut state = (0, 1_000_000_000, Vec::with_capacity(8192));
        for _ in 0..events(60_000) {
            event(c, &mut rust, &mut draws, &mut state);
            let mut allowed = Allowance {
                window: 0,
                in_flight: 0,
                pacing_bps: 0,
                quantum: 0,
            };
            let mut verdict = nothing();
            // SAFETY: the object is live, and the pointers are to local variables.
            unsafe {
                assert_eq!(whyloss_scheme_allowance(c, &raw mut allowed), Status::Ok);
                assert_eq!(whyloss_scheme_verdict(c, &raw mut verdict), Status::Ok);
            }
            let pacing = rust.pacing_rate().map_or(UNPACED, whyloss::Rate::as_bps);
            let decided = (rust.window(), rust.in_flight(), pacing);
            assert_eq!(
                (allowed.window, allowed.in_flight, allowed.pacing_bps),
                decided,
                "{}",
                entry.id
            );
            assert!(same(&verdict, rust.last_verdict()), "{}", entry.id);
        }
        // The Rust connection has also reserved its memory, so only C could still allocate.
        let (mut number, mut now) = (state.0, state.1);
        let counted = allocation_counter::measure(|| {
            for _ in 0..5000 {
                now += 1_000_000;
                // SAFETY: the object is live, and the pointers are to one number each.
                unsafe {
                    whyloss_scheme_on_sent(c, number, 1200, now, 0);
                    let lost = number - 1;
                    if number.is_multiple_of(7) {
                        whyloss_scheme_on_acked(c, &raw const number, 1, now);
                        whyloss_scheme_on_lost(c, &raw const lost, 1, now, std::ptr::null_mut());
                    }
                }
                number += 1;
            }
        });
        assert_eq!(counted.count_total, 0, "{} allocates", entry.id);
        // SAFETY: the object is live at the first call and dropped at the second.
        unsafe {
            assert_eq!(whyloss_scheme_drop(c), Status::Ok);
            assert_eq!(whyloss_scheme_drop(c), Status::Uninitialised);
        }
    }
}

#[test]
fn every_receiver_decides_alike() {
    for entry in receiver::REGISTRY {
        let mut draws = Draws(7);
        let mut rust = LossTracker::rtp(entry.build(&[]).unwrap()).wait_for_packets(3);
        let memory = Memory::new(whyloss_receiver_size());
        let name = CString::new(entry.id).unwrap();
        let options = ReceiverOptions {
            abi: ABI,
            bits: 16,
            name: name.as_ptr(),
            parameters: null(),
            wait_packets: 3,
            wait_ns: 0,
        };
        let (c, size) = (memory.object, whyloss_receiver_size());
        // SAFETY: the memory has the required size, and the options are live.
        let status =
            unsafe { whyloss_receiver_init(c, size, &raw const options, std::ptr::null_mut(), 0) };
        assert_eq!(status, Status::Ok);
        let mut number = 0;
        for index in 0..events(30_000) {
            number += 1 + draws.below(12) / 11 * draws.below(4);
            let seen = number - draws.below(15) / 14;
            let sent = 1_000_000_000 + index * 20_000_000;
            let received = sent + 30_000_000 + draws.below(20_000_000);
            let packet = Arrived {
                number: seen,
                sent_ns: sent,
                received_ns: received,
                bytes: 200,
            };
            let (sent, received) = (Time::from_nanos(sent), Time::from_nanos(received));
            let arrival = Arrival::new(seen, sent, received, 200);
            let mut expected = vec![];
            rust.on_packet(&arrival, |loss| expected.push(loss));
            let empty = Loss {
                first: 0,
                count: 0,
                revealed_ns: 0,
                cause: Why::Unknown,
            };
            let (mut losses, mut count) = ([empty; MOST_LOSSES], 0);
            // SAFETY: the object is live, and the arrays have room.
            let mut call = |packet| unsafe {
                let (losses, count) = (losses.as_mut_ptr(), &raw mut count);
                whyloss_receiver_on_packet(c, packet, losses, MOST_LOSSES, count, null_mut())
            };
            assert_eq!(call(null()), Status::Null);
            assert_eq!(call(&raw const packet), Status::Ok);
            let told: Vec<_> = losses[..count]
                .iter()
                .map(|l| (l.first, l.count, l.revealed_ns, l.cause))
                .collect();
            let expected: Vec<_> = expected
                .iter()
                .map(|l| (l.first, l.count, l.revealed.as_nanos(), Why::from(l.cause)))
                .collect();
            assert_eq!(told, expected, "{}", entry.id);
        }
        // SAFETY: the object is live.
        assert_eq!(unsafe { whyloss_receiver_drop(c) }, Status::Ok);
    }
}

/// Draws a packet's report in Rust and in C: lost or arrived, late or marked, with or without a
/// cause.
fn reported(id: u64, departed: u64, draws: &mut Draws) -> (Report, MediaReport) {
    let received = departed + 20_000_000 + draws.below(30_000_000);
    let ecn = draws.below(40).saturating_sub(36) as u8;
    let (fate, kind, cause) = match draws.below(60) {
        0..3 => (Fate::Lost(None), 0, 0),
        3 => (Fate::Lost(Some(Cause::Congestion)), 0, 1),
        4 => (Fate::Lost(Some(Cause::Wireless)), 0, 2),
        5 => (Fate::Arrived(None, Ecn::from_bits(ecn)), 2, 0),
        _ => {
            let at = Some(Time::from_nanos(received));
            (Fate::Arrived(at, Ecn::from_bits(ecn)), 1, 0)
        }
    };
    let size = 200 + draws.below(1000) as u32;
    let rust = Report {
        id,
        departed: Time::from_nanos(departed),
        size,
        fate,
    };
    let c = MediaReport {
        id,
        departed_ns: departed,
        received_ns: received,
        bytes: size,
        fate: kind,
        ecn: ecn.into(),
        cause,
    };
    (rust, c)
}

#[test]
fn the_estimator_decides_alike_on_a_million_reports() {
    let mut rust = Estimator::new(300e3, 50e3, 20e6);
    let memory = Memory::<Media>::new(whyloss_media_size());
    let (c, size) = (memory.object, whyloss_media_size());
    let options = MediaOptions {
        abi: ABI,
        initial_bps: 300e3,
        least_bps: 50e3,
        most_bps: 20e6,
    };
    // SAFETY: the memory has the required size, and the options are live.
    let status = unsafe { whyloss_media_init(c, size, &raw const options, null_mut(), 0) };
    assert_eq!(status, Status::Ok);
    let (mut draws, mut id, mut now) = (Draws(5), 0, 1_000_000_000);
    let mut targets = std::collections::BTreeSet::new();
    while id < 1_000_000 {
        let mut both = vec![];
        for _ in 0..draws.below(40) {
            now += 500_000 + draws.below(4_000_000);
            both.push(reported(id, now, &mut draws));
            id += 1;
        }
        if draws.below(10) == 0 {
            both.reverse();
        }
        now += draws.below(300) / 299 * 2_000_000_000;
        let reports: Vec<_> = both.iter().map(|pair| pair.1).collect();
        let at = now + 60_000_000;
        let (mut due, mut state) = (0, MediaState::default());
        // SAFETY: the estimator is live, and the pointers are to local variables.
        unsafe {
            let status = whyloss_media_on_reports(c, at, reports.as_ptr(), reports.len());
            assert_eq!(status, Status::Ok);
            if draws.below(5) == 0 {
                assert_eq!(whyloss_media_on_timeout(c, at), Status::Ok);
                rust.on_reports(Time::from_nanos(at), both.iter().map(|pair| pair.0));
                rust.timeout(Time::from_nanos(at));
            } else {
                rust.on_reports(Time::from_nanos(at), both.iter().map(|pair| pair.0));
            }
            assert_eq!(whyloss_media_next_timeout(c, &raw mut due), Status::Ok);
            assert_eq!(whyloss_media_target(c, &raw mut state), Status::Ok);
        }
        assert_eq!(due, rust.poll_timeout().map_or(NEVER, Time::as_nanos));
        let (stats, target) = (rust.stats(), rust.target());
        let told = [
            state.target_bps,
            state.queue_s,
            state.trend,
            state.capacity_bps,
            state.lost,
        ];
        let told = told.into_iter().chain([state.refused, state.trip_s]);
        let expected = [target, stats.queue, stats.trend, stats.capacity, stats.lost];
        let expected = expected.into_iter().chain([stats.refused, stats.trip]);
        assert!(
            told.map(f64::to_bits).eq(expected.map(f64::to_bits)),
            "packet {id}"
        );
        targets.insert(target.to_bits());
    }
    assert!(
        targets.len() > 1000,
        "the target moved {} times",
        targets.len()
    );
    // SAFETY: the estimator is live.
    assert_eq!(unsafe { whyloss_media_drop(c) }, Status::Ok);
}

/// Returns the error of `init` for these options, with its text.
fn refusal(options: &SchemeOptions, size: usize) -> (Status, String) {
    let memory = Memory::new(whyloss_scheme_size());
    let mut text = [0_u8; 120];
    // SAFETY: the memory has at least this size, the options are live, and the text has room.
    let status = unsafe {
        whyloss_scheme_init(
            memory.object,
            size,
            options,
            text.as_mut_ptr().cast(),
            text.len(),
        )
    };
    let end = text.iter().position(|&byte| byte == 0).unwrap();
    (status, String::from_utf8(text[..end].to_vec()).unwrap())
}

#[test]
fn bad_input_is_an_error_with_a_text() {
    let size = whyloss_scheme_size();
    let named = |name: &str| CString::new(name).unwrap();
    let unknown = named("whylos");
    let (status, text) = refusal(&options(&unknown, 0), size);
    assert_eq!(status, Status::Name);
    assert_eq!(
        text,
        "no scheme is called `whylos`; did you mean `whyloss`?"
    );
    let parts = named("cubic/percent/trees");
    let mut wrong = options(&parts, 0);
    let parameters = named("percent=800");
    wrong.parameters = parameters.as_ptr();
    let (status, text) = refusal(&wrong, size);
    assert_eq!(status, Status::Name);
    assert!(text.starts_with("`percent` of percent must be a whole number from 1 to 100"));
    let parameters = named("percent=80, colour=1");
    wrong.parameters = parameters.as_ptr();
    let (status, text) = refusal(&wrong, size);
    assert_eq!(status, Status::Name);
    assert_eq!(
        text,
        "neither controller, policy nor classifier has a parameter `colour`"
    );
    let good = named("whyloss");
    assert_eq!(refusal(&options(&good, 1 << 30), size).0, Status::Range);
    assert_eq!(refusal(&options(&good, 0), size - 1).0, Status::Memory);
    let old = SchemeOptions {
        abi: ABI + 1,
        ..options(&good, 0)
    };
    assert_eq!(refusal(&old, size).0, Status::Abi);
    // SAFETY: the functions accept null pointers, which this test passes.
    unsafe {
        let none = std::ptr::null_mut();
        assert_eq!(
            whyloss_scheme_init(none, size, null(), none.cast(), 0),
            Status::Null
        );
        assert_eq!(whyloss_scheme_on_sent(none, 0, 1, 0, 0), Status::Null);
    }
    for status in 0..10 {
        // SAFETY: the text is never freed.
        let text = unsafe { std::ffi::CStr::from_ptr(whyloss_status_text(status)) };
        assert!(!text.is_empty());
    }
}

#[test]
fn events_out_of_order_are_refused_and_change_nothing() {
    let (name, size) = (CString::new("cubic").unwrap(), whyloss_scheme_size());
    let memory = Memory::<Scheme>::new(size);
    let (c, options) = (memory.object, options(&name, 16));
    // SAFETY: the memory has the required size, the options are live, and the object is live
    // afterwards.
    unsafe {
        let text = std::ptr::null_mut();
        assert_eq!(
            whyloss_scheme_init(c, size, &raw const options, text, 0),
            Status::Ok
        );
        assert_eq!(whyloss_scheme_on_sent(c, 5, 1200, 1000, 0), Status::Ok);
        assert_eq!(whyloss_scheme_on_sent(c, 5, 1200, 1000, 0), Status::Order);
        assert_eq!(whyloss_scheme_on_sent(c, 6, 1200, 999, 0), Status::Order);
        assert_eq!(whyloss_scheme_on_acked(c, null(), 1, 1000), Status::Null);
        let falling = [4_u64, 3];
        assert_eq!(
            whyloss_scheme_on_acked_through(c, 5, falling.as_ptr(), 2, 1000),
            Status::Order
        );
        let number = 5_u64;
        assert_eq!(
            whyloss_scheme_on_acked(c, &raw const number, 1, 999),
            Status::Order
        );
        let mut allowed = Allowance {
            window: 0,
            in_flight: 0,
            pacing_bps: 0,
            quantum: 0,
        };
        assert_eq!(
            whyloss_scheme_allowance(c, std::ptr::null_mut()),
            Status::Null
        );
        assert_eq!(whyloss_scheme_allowance(c, &raw mut allowed), Status::Ok);
        assert_eq!(allowed.in_flight, 1200);
        assert_eq!(whyloss_scheme_drop(c), Status::Ok);
    }
}
