//! Fuzzes the C interface with calls in any order, on initialised, dropped, and zeroed memory.
#![no_main]

use std::ptr::{null, null_mut};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use whyloss_capi::media::*;
use whyloss_capi::receiver::*;
use whyloss_capi::scheme::*;
use whyloss_capi::{ABI, Status, Why};

#[derive(Arbitrary, Debug)]
enum Call {
    Init(String, String, u32, u16, u32),
    Drop,
    Sent(u64, u32, u64, i32),
    Acked(Vec<u64>, u64),
    AckedThrough(u64, Vec<u64>, u64),
    Lost(Vec<u64>, u64, bool),
    Timeout(u64),
    Persistent(u64),
    Ecn(u64),
    Spurious(u64),
    Rtt(u64),
    Mtu(u32),
    Allowance(bool),
    Verdict(bool),
    Listen(u8, u32, u32, u64),
    Hush,
    Packet(u64, u64, u64, u32),
    Finish(Option<u64>, u64),
    Late(u64),
    Estimate(f64, f64, f64),
    HangUp,
    Reports(u64, Vec<(u64, u64, u64, u32, i8, i8, i8)>),
    Quiet(u64),
    Due,
    Target(bool),
}

/// Returns zeroed memory with the alignment of `malloc`.
fn zeros(size: usize) -> Vec<u128> {
    vec![0; size.div_ceil(16)]
}

fn report(
    (id, departed_ns, received_ns, bytes, fate, ecn, cause): (u64, u64, u64, u32, i8, i8, i8),
) -> MediaReport {
    MediaReport {
        id,
        departed_ns,
        received_ns,
        bytes,
        fate: fate.into(),
        ecn: ecn.into(),
        cause: cause.into(),
    }
}

fuzz_target!(|calls: Vec<Call>| {
    let (size, room) = (whyloss_scheme_size(), whyloss_receiver_size());
    let (mut one, mut other) = (zeros(size), zeros(room));
    let (scheme, receiver) = (one.as_mut_ptr().cast(), other.as_mut_ptr().cast());
    let mut third = zeros(whyloss_media_size());
    let media = third.as_mut_ptr().cast();
    let empty = Loss {
        first: 0,
        count: 0,
        revealed_ns: 0,
        cause: Why::Unknown,
    };
    let (mut losses, mut count) = ([empty; MOST_LOSSES], 0);
    let losses = losses.as_mut_ptr();
    let mut allowed = Allowance {
        window: 0,
        in_flight: 0,
        pacing_bps: 0,
        quantum: 0,
    };
    for call in calls {
        let mut verdict = Verdict {
            cause: Why::Unknown,
            found: Found::None,
            odds: 0.0,
            at_ns: 0,
        };
        let mut text = [1; 40];
        let (room_of_text, text) = (text.len(), text.as_mut_ptr());
        // SAFETY: the memory has the requested sizes and starts as zeros; every pointer is null or
        // valid.
        let status = unsafe {
            match call {
                Call::Init(name, parameters, mtu, packets, index) => {
                    whyloss_scheme_drop(scheme);
                    let mut known = [0; 64];
                    let named = whyloss_scheme_name(index as usize % 32, known.as_mut_ptr(), 64);
                    let (name, parameters) = (name + "\0", parameters + "\0");
                    let options = SchemeOptions {
                        abi: ABI,
                        mtu,
                        name: if named == Status::Ok {
                            known.as_ptr()
                        } else {
                            name.as_ptr().cast()
                        },
                        parameters: if named == Status::Ok {
                            null()
                        } else {
                            parameters.as_ptr().cast()
                        },
                        packets: packets.into(),
                    };
                    whyloss_scheme_init(scheme, size, &options, text, room_of_text)
                }
                Call::Drop => whyloss_scheme_drop(scheme),
                Call::Sent(number, bytes, now, limited) => {
                    whyloss_scheme_on_sent(scheme, number, bytes, now, limited)
                }
                Call::Acked(numbers, now) => {
                    whyloss_scheme_on_acked(scheme, numbers.as_ptr(), numbers.len(), now)
                }
                Call::AckedThrough(through, missing, now) => {
                    let (missing, count) = (missing.as_ptr(), missing.len());
                    whyloss_scheme_on_acked_through(scheme, through, missing, count, now)
                }
                Call::Lost(numbers, now, told) => {
                    let verdict = if told { &raw mut verdict } else { null_mut() };
                    whyloss_scheme_on_lost(scheme, numbers.as_ptr(), numbers.len(), now, verdict)
                }
                Call::Timeout(now) => whyloss_scheme_on_timeout(scheme, now, &raw mut verdict),
                Call::Persistent(now) => {
                    whyloss_scheme_on_persistent_congestion(scheme, now, &raw mut verdict)
                }
                Call::Ecn(now) => whyloss_scheme_on_ecn(scheme, now),
                Call::Spurious(now) => whyloss_scheme_on_spurious(scheme, now),
                Call::Rtt(rtt) => whyloss_scheme_on_rtt(scheme, rtt),
                Call::Mtu(mtu) => whyloss_scheme_on_mtu(scheme, mtu),
                Call::Allowance(told) => whyloss_scheme_allowance(
                    scheme,
                    if told { &raw mut allowed } else { null_mut() },
                ),
                Call::Verdict(told) => {
                    whyloss_scheme_verdict(scheme, if told { &raw mut verdict } else { null_mut() })
                }
                Call::Listen(index, bits, wait_packets, wait_ns) => {
                    whyloss_receiver_drop(receiver);
                    let mut known = [0; 64];
                    whyloss_receiver_name(index.into(), known.as_mut_ptr(), 64);
                    let options = ReceiverOptions {
                        abi: ABI,
                        bits,
                        name: known.as_ptr(),
                        parameters: null(),
                        wait_packets,
                        wait_ns,
                    };
                    whyloss_receiver_init(receiver, room, &options, text, room_of_text)
                }
                Call::Hush => whyloss_receiver_drop(receiver),
                Call::Packet(number, sent_ns, received_ns, bytes) => whyloss_receiver_on_packet(
                    receiver,
                    &Arrived {
                        number,
                        sent_ns,
                        received_ns,
                        bytes,
                    },
                    losses,
                    MOST_LOSSES,
                    &raw mut count,
                    null_mut(),
                ),
                Call::Finish(last, now) => {
                    let last = last.as_ref().map_or(null(), std::ptr::from_ref);
                    whyloss_receiver_finish(
                        receiver,
                        last,
                        now,
                        losses,
                        MOST_LOSSES,
                        &raw mut count,
                    )
                }
                Call::Late(now) => {
                    whyloss_receiver_on_timeout(receiver, now, losses, MOST_LOSSES, &raw mut count)
                }
                Call::Estimate(initial_bps, least_bps, most_bps) => {
                    whyloss_media_drop(media);
                    let options = MediaOptions {
                        abi: ABI,
                        initial_bps,
                        least_bps,
                        most_bps,
                    };
                    let size = whyloss_media_size();
                    whyloss_media_init(media, size, &options, text, room_of_text)
                }
                Call::HangUp => whyloss_media_drop(media),
                Call::Reports(now, reports) => {
                    let reports: Vec<_> = reports.into_iter().map(report).collect();
                    whyloss_media_on_reports(media, now, reports.as_ptr(), reports.len())
                }
                Call::Quiet(now) => whyloss_media_on_timeout(media, now),
                Call::Due => {
                    let mut due = 0;
                    whyloss_media_next_timeout(media, &raw mut due)
                }
                Call::Target(told) => {
                    let mut state = std::mem::zeroed::<MediaState>();
                    let place = if told { &raw mut state } else { null_mut() };
                    let status = whyloss_media_target(media, place);
                    if told && status == Status::Ok {
                        assert!(
                            (0.0..=1e12).contains(&state.target_bps),
                            "{}",
                            state.target_bps
                        );
                    }
                    status
                }
            }
        };
        assert_ne!(status, Status::Broken);
        assert!(count <= MOST_LOSSES);
    }
    // SAFETY: the memory is zeroed, initialised or dropped, all of which `drop` accepts.
    unsafe {
        whyloss_scheme_drop(scheme);
        whyloss_receiver_drop(receiver);
        whyloss_media_drop(media);
    }
});
