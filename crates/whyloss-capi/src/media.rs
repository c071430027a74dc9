//! The C interface of the bandwidth estimator for media, `whyloss_rtc::Estimator`.

use core::ffi::c_char;

use whyloss::{Cause, Time};
use whyloss_rtc::{Ecn, Estimator, Fate, Report};

use crate::held::{self, Object, Status};
use crate::receiver::NEVER;
use crate::text::Message;

/// An estimator in the caller's memory.
pub struct Media {
    _private: [u8; 0],
}

/// The options of `whyloss_media_init`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MediaOptions {
    /// Must be `WHYLOSS_ABI`, the version of this interface.
    pub abi: u32,
    /// The initial bitrate, in bit/s, from 0 to 1e12 like the bounds.
    pub initial_bps: f64,
    /// The lowest bitrate, in bit/s.
    pub least_bps: f64,
    /// The highest bitrate, in bit/s.
    pub most_bps: f64,
}

/// The fate of a packet in a report.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fated {
    /// The packet did not arrive.
    Lost = 0,
    /// The packet arrived at the reported time.
    Arrived = 1,
    /// The packet arrived at an unknown time.
    ArrivedUntimed = 2,
}

/// A receiver's report of one packet.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MediaReport {
    /// The packet's number, which increases by one per packet in order of departure.
    pub id: u64,
    /// The departure time on the sender's clock, in nanoseconds.
    pub departed_ns: u64,
    /// The arrival time on the receiver's clock, in nanoseconds.
    pub received_ns: u64,
    /// The size on the wire, in bytes.
    pub bytes: u32,
    /// The fate, a value of `whyloss_fate`.
    pub fate: i32,
    /// The two ECN bits with which the packet arrived.
    pub ecn: i32,
    /// The true cause of a loss, a value of `whyloss_cause`, if the path reports it.
    pub cause: i32,
}

/// The state behind the bitrate, for logs. Programs should not base decisions on it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MediaState {
    /// The bitrate to send at, in bit/s.
    pub target_bps: f64,
    /// The queueing delay of the latest round, in seconds.
    pub queue_s: f64,
    /// The growth of the queueing delay in the latest round, in seconds per second.
    pub trend: f64,
    /// The estimated capacity of the path at the last congestion, in bit/s; 0 before the first.
    pub capacity_bps: f64,
    /// The share of packets lost in the latest round, in [0, 1].
    pub lost: f64,
    /// The share of packets in the latest round that a full queue dropped, in [0, 1], estimated
    /// from the odds of each loss.
    pub refused: f64,
    /// The time from the first departure of the latest round to its report, in seconds.
    pub trip_s: f64,
}

impl Object for Estimator {
    const LIVE: u64 = 0x7768_795f_6d65_6469;
}

/// Reads a report of the C interface; `None` if a field is invalid.
fn read(report: &MediaReport) -> Option<Report> {
    let cause = match report.cause {
        0 => None,
        1 => Some(Cause::Congestion),
        2 => Some(Cause::Wireless),
        _ => return None,
    };
    let ecn = u8::try_from(report.ecn).ok().filter(|&bits| bits < 4)?;
    let ecn = Ecn::from_bits(ecn);
    let fate = match report.fate {
        0 => Fate::Lost(cause),
        1 => Fate::Arrived(Some(Time::from_nanos(report.received_ns)), ecn),
        2 => Fate::Arrived(None, ecn),
        _ => return None,
    };
    Some(Report {
        id: report.id,
        departed: Time::from_nanos(report.departed_ns),
        size: report.bytes,
        fate,
    })
}

/// Returns the size of an estimator in bytes. Its memory must be aligned as by `malloc`.
#[unsafe(no_mangle)]
pub extern "C" fn whyloss_media_size() -> usize {
    held::size::<Estimator>()
}

/// Initialises an estimator in `size` bytes at `media`, which must hold no live object. If the
/// status is not `OK`, writes the reason into `room` bytes at `text`, which may be null.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_media_init(
    media: *mut Media,
    size: usize,
    options: *const MediaOptions,
    text: *mut c_char,
    room: usize,
) -> Status {
    // SAFETY: options of any ABI begin with this number, and `options` is null or points to them.
    let abi = unsafe { held::input(options.cast::<u32>()) };
    let make = |message: &mut Message| {
        // SAFETY: the ABI matches, so `options` is null or points to all options.
        let options = unsafe { held::input(options)? };
        let initial = options.initial_bps;
        let (least, most) = (options.least_bps, options.most_bps);
        if [initial, least, most]
            .iter()
            .any(|rate| !(0.0..=1e12).contains(rate))
            || least > most
        {
            let what = format_args!(
                "rates are {initial}, {least} and {most}; they must be 0 to 1e12 bit/s, the least no more than the most"
            );
            return Err(message.say(Status::Range, what));
        }
        Ok(Estimator::new(initial, least, most))
    };
    // SAFETY: `media` and `text` are null or have the stated sizes, for this call alone.
    unsafe { held::init(media.cast(), size, (text, room), abi.ok().copied(), make) }
}

/// Frees the memory that `init` allocated. The caller keeps the object's own memory and may pass it
/// to `init` again.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_media_drop(media: *mut Media) -> Status {
    // SAFETY: `media` is null or the memory of an object that only this call uses.
    unsafe { held::drop::<Estimator>(media.cast()) }
}

/// Updates the bitrate with `count` reports, in any order, that arrived at `now_ns` on the sender's
/// clock. If a clock jumps, the estimator needs a few rounds to recover.
///
/// # Safety
/// `reports` must point to `count` reports. All pointers must satisfy the
/// [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_media_on_reports(
    media: *mut Media,
    now_ns: u64,
    reports: *const MediaReport,
    count: usize,
) -> Status {
    let act = |estimator: &mut Estimator| {
        // SAFETY: `reports` is null or points to `count` elements that outlive the call.
        let reports = unsafe { held::inputs(reports, count)? };
        if !reports.iter().all(|report| read(report).is_some()) {
            return Err(Status::Range);
        }
        estimator.on_reports(Time::from_nanos(now_ns), reports.iter().filter_map(read));
        Ok(())
    };
    // SAFETY: `media` is null or the memory of an object that only this call uses.
    unsafe { held::with(media.cast(), act) }
}

/// Lowers the target if the deadline has passed at `now_ns` on the sender's clock; otherwise does
/// nothing.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_media_on_timeout(media: *mut Media, now_ns: u64) -> Status {
    let act = |estimator: &mut Estimator| {
        estimator.timeout(Time::from_nanos(now_ns));
        Ok(())
    };
    // SAFETY: `media` is null or the memory of an object that only this call uses.
    unsafe { held::with(media.cast(), act) }
}

/// Writes when to call `on_timeout` unless a report arrives first, or `WHYLOSS_NEVER`.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_media_next_timeout(media: *mut Media, due_ns: *mut u64) -> Status {
    let act = |estimator: &mut Estimator| {
        let due = estimator.poll_timeout().map_or(NEVER, Time::as_nanos);
        // SAFETY: `due_ns` is null or points to memory for the result.
        unsafe { held::output(due_ns, due) }
    };
    // SAFETY: `media` is null or the memory of an object that only this call uses.
    unsafe { held::with(media.cast(), act) }
}

/// Writes the bitrate to send at and the state behind it.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_media_target(media: *mut Media, state: *mut MediaState) -> Status {
    let act = |estimator: &mut Estimator| {
        let stats = estimator.stats();
        let said = MediaState {
            target_bps: estimator.target(),
            queue_s: stats.queue,
            trend: stats.trend,
            capacity_bps: stats.capacity,
            lost: stats.lost,
            refused: stats.refused,
            trip_s: stats.trip,
        };
        // SAFETY: `state` is null or points to memory for the result.
        unsafe { held::output(state, said) }
    };
    // SAFETY: `media` is null or the memory of an object that only this call uses.
    unsafe { held::with(media.cast(), act) }
}
