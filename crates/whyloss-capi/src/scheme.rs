//! The C interface of congestion control for packets with numbers, `whyloss::connection`.

use core::ffi::c_char;

use whyloss::connection::{self, Connection, MOST_PACKETS};
use whyloss::event::Detection;
use whyloss::{Duration, Time, congestion, policy, schemes, sender};

use crate::Why;
use crate::held::{self, Object, Status};
use crate::text::{self, Message, Parameters};

/// The number of packets that a scheme remembers by default.
pub const DEFAULT_PACKETS: usize = 1 << 14;

/// The pacing rate that means no pacing: the scheme sends as acknowledgements arrive.
pub const UNPACED: u64 = u64::MAX;

/// A connection under a scheme in the caller's memory.
pub struct Scheme {
    _private: [u8; 0],
}

/// The options of `whyloss_scheme_init`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SchemeOptions {
    /// Must be `WHYLOSS_ABI`, the version of this interface.
    pub abi: u32,
    /// The size of a full packet in bytes, at least 1.
    pub mtu: u32,
    /// The name of a scheme (`"whyloss"`), or of a controller, a policy and a sender classifier
    /// (`"cubic/keep/trees"`).
    pub name: *const c_char,
    /// The parameters of these parts, such as `"percent=80"`, separated by commas. May be null.
    pub parameters: *const c_char,
    /// The number of packets in flight that the scheme remembers, up to 262,144; 0 means 16,384.
    /// With more, a new packet replaces the oldest. `init` allocates room for all of them.
    pub packets: size_t,
}

/// The name that makes the header use `size_t`.
#[allow(non_camel_case_types)]
type size_t = usize;

/// How much data may be sent, and at which rate.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// The bytes that may be in flight, at least two packets.
    pub window: u64,
    /// The bytes in flight: sent, not acknowledged, not lost.
    pub in_flight: u64,
    /// The pacing rate, in bit/s; `WHYLOSS_UNPACED` means to send as acknowledgements arrive.
    pub pacing_bps: u64,
    /// The bytes that a paced sender may send back to back.
    pub quantum: u64,
}

/// How a loss was found.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// No loss has been found, or the loss belongs to an earlier event.
    None = 0,
    /// Three later packets were acknowledged (RFC 9002, section 6.1.1).
    Duplicates = 1,
    /// A later packet was acknowledged, and this one was in flight for too long (RFC 9002, section
    /// 6.1.2).
    Time = 2,
    /// The retransmission timer expired.
    Timeout = 3,
    /// Everything sent over a long period was lost (RFC 9002, section 7.6).
    Persistent = 4,
}

/// The verdict on a loss event.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// The cause; `UNKNOWN` exactly if `found` is `NONE`.
    pub cause: Why,
    /// How the loss was found.
    pub found: Found,
    /// The odds of congestion, p/(1 - p); NaN if the classifier has no odds, and for `whyloss`.
    pub odds: f64,
    /// When the loss was found, in nanoseconds.
    pub at_ns: u64,
}

impl Verdict {
    const NONE: Self = Self {
        cause: Why::Unknown,
        found: Found::None,
        odds: f64::NAN,
        at_ns: 0,
    };
}

impl From<Option<connection::Verdict>> for Verdict {
    fn from(verdict: Option<connection::Verdict>) -> Self {
        let Some(verdict) = verdict else {
            return Self::NONE;
        };
        Self {
            cause: verdict.cause.into(),
            found: match verdict.detection {
                Detection::TimeThreshold => Found::Time,
                Detection::Timeout => Found::Timeout,
                Detection::PersistentCongestion => Found::Persistent,
                _ => Found::Duplicates,
            },
            odds: verdict.odds.unwrap_or(f64::NAN),
            at_ns: verdict.at.as_nanos(),
        }
    }
}

/// The object behind [`Scheme`].
struct Live {
    connection: Connection,
    mtu: u32,
    /// The packet number of the last packet sent.
    last: Option<u64>,
    /// The latest time that the caller passed.
    now: Time,
}

impl Object for Live {
    const LIVE: u64 = 0x7768_795f_7363_6865;
}

impl Live {
    fn advance(&mut self, now_ns: u64) -> Result<Time, Status> {
        let now = Time::from_nanos(now_ns);
        if now < self.now {
            return Err(Status::Order);
        }
        self.now = now;
        Ok(now)
    }
}

/// Builds the scheme with this name.
fn scheme(name: &str, parameters: &str, message: &mut Message) -> Result<schemes::Scheme, Status> {
    let mut parameters = Parameters::parse(parameters, message)?;
    let mut parts = name.split('/');
    let (Some(controller), Some(policy), Some(classifier), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return parameters.build(schemes::REGISTRY, ("scheme", name), message);
    };
    let kind = parameters.take(congestion::REGISTRY, ("controller", controller), message)?;
    let wireless = parameters.take(policy::REGISTRY, ("policy", policy), message)?;
    let classifier =
        parameters.take(sender::REGISTRY, ("sender classifier", classifier), message)?;
    parameters.finish(message)?;
    Ok(schemes::Scheme::new(kind, wireless, classifier))
}

/// Returns the size of a scheme in bytes. Its memory must be aligned as by `malloc`.
#[unsafe(no_mangle)]
pub extern "C" fn whyloss_scheme_size() -> usize {
    held::size::<Live>()
}

/// Writes the name of the scheme at `index`, counted from 0, into `room` bytes. Returns `RANGE`
/// after the last one, and `MEMORY` if the name does not fit. A room of 64 bytes is enough for any
/// name.
///
/// # Safety
/// `name` must be null, or point to `room` bytes that only this call may write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_name(
    index: usize,
    name: *mut c_char,
    room: usize,
) -> Status {
    // SAFETY: `name` is null or points to `room` writable bytes.
    unsafe { text::name(schemes::REGISTRY, index, (name, room)) }
}

/// Initialises a connection in `size` bytes at `scheme`, which must hold no live object. If the
/// status is not `OK`, writes the reason into `room` bytes at `text`, which may be null.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_init(
    scheme: *mut Scheme,
    size: usize,
    options: *const SchemeOptions,
    text: *mut c_char,
    room: usize,
) -> Status {
    // SAFETY: options of any ABI begin with this number, and `options` is null or points to them.
    let abi = unsafe { held::input(options.cast::<u32>()) };
    let make = |message: &mut Message| {
        // SAFETY: the ABI matches, so `options` is null or points to all options, whose texts are
        // null or end with a zero.
        let (options, name, parameters) = unsafe {
            let options = held::input(options)?;
            if options.name.is_null() {
                return Err(Status::Null);
            }
            let name = text::read(options.name, message)?;
            (options, name, text::read(options.parameters, message)?)
        };
        let packets = match options.packets {
            0 => DEFAULT_PACKETS,
            packets => packets,
        };
        if options.mtu == 0 {
            return Err(message.say(Status::Range, "mtu is 0; a packet has at least 1 byte"));
        }
        if packets > MOST_PACKETS {
            let what = format_args!("packets is {packets}; at most {MOST_PACKETS} are remembered");
            return Err(message.say(Status::Range, what));
        }
        let scheme = self::scheme(name, parameters, message)?;
        let mut connection = Connection::new(&scheme, options.mtu).most_packets(packets);
        connection.reserve().map_err(|_| Status::Allocation)?;
        Ok(Live {
            connection,
            mtu: options.mtu,
            last: None,
            now: Time::ZERO,
        })
    };
    // SAFETY: `scheme` and `text` are null or have the stated sizes, for this call alone.
    unsafe { held::init(scheme.cast(), size, (text, room), abi.ok().copied(), make) }
}

/// Frees the memory that `init` allocated. The caller keeps the object's own memory and may pass it
/// to `init` again.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_drop(scheme: *mut Scheme) -> Status {
    // SAFETY: `scheme` is null or the memory of an object that only this call uses.
    unsafe { held::drop::<Live>(scheme.cast()) }
}

/// Records that packet `number` of `bytes` bytes leaves. Set `app_limited` to 1 if the application
/// has no more data although window and pacing would allow it, else to 0. Numbers must increase.
/// Leave out packets that do not count as in flight, such as acknowledgements.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_on_sent(
    scheme: *mut Scheme,
    number: u64,
    bytes: u32,
    now_ns: u64,
    app_limited: i32,
) -> Status {
    let act = |live: &mut Live| {
        if live.last.is_some_and(|last| number <= last) {
            return Err(Status::Order);
        }
        let now = live.advance(now_ns)?;
        live.last = Some(number);
        live.connection
            .on_packet_sent(number, bytes.into(), now, app_limited != 0);
        Ok(())
    };
    // SAFETY: `scheme` is null or the memory of an object that only this call uses.
    unsafe { held::with(scheme.cast(), act) }
}

/// Sets the round-trip time of the next acknowledgement, without the delay that the peer reports
/// (RFC 9002, section 5.3; at most its `max_ack_delay`). The delay then does not look like a queue.
/// The value is clamped between the smallest round-trip time so far and the scheme's own
/// measurement.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_on_rtt(scheme: *mut Scheme, rtt_ns: u64) -> Status {
    let act = |live: &mut Live| {
        let rtt = i64::try_from(rtt_ns).unwrap_or(i64::MAX);
        live.connection.on_rtt(Duration::from_nanos(rtt));
        Ok(())
    };
    // SAFETY: `scheme` is null or the memory of an object that only this call uses.
    unsafe { held::with(scheme.cast(), act) }
}

/// Processes an acknowledgement that arrived at `now_ns` and newly acknowledges these packets. Call
/// this function once for each acknowledgement, before `on_lost`. Unknown and settled numbers have
/// no effect.
///
/// # Safety
/// `numbers` must point to `count` numbers. All pointers must satisfy the
/// [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_on_acked(
    scheme: *mut Scheme,
    numbers: *const u64,
    count: usize,
    now_ns: u64,
) -> Status {
    let act = |live: &mut Live| {
        // SAFETY: `numbers` is null or points to `count` elements that outlive the call.
        let numbers = unsafe { held::inputs(numbers, count)? };
        let now = live.advance(now_ns)?;
        live.connection
            .on_packets_acked(numbers.iter().copied(), now);
        Ok(())
    };
    // SAFETY: `scheme` is null or the memory of an object that only this call uses.
    unsafe { held::with(scheme.cast(), act) }
}

/// Processes an acknowledgement of every packet up to number `through` except the `count` packets
/// in `missing`, in increasing order. Use this function instead of `on_acked` in a stack that lists
/// the packets in flight, but does not report which ones an acknowledgement removed.
///
/// # Safety
/// `missing` must point to `count` numbers. All pointers must satisfy the
/// [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_on_acked_through(
    scheme: *mut Scheme,
    through: u64,
    missing: *const u64,
    count: usize,
    now_ns: u64,
) -> Status {
    let act = |live: &mut Live| {
        // SAFETY: `missing` is null or points to `count` elements that outlive the call.
        let missing = unsafe { held::inputs(missing, count)? };
        if !missing.is_sorted() {
            return Err(Status::Order);
        }
        let now = live.advance(now_ns)?;
        live.connection
            .on_packets_acked_through(through, missing.iter().copied(), now);
        Ok(())
    };
    // SAFETY: `scheme` is null or the memory of an object that only this call uses.
    unsafe { held::with(scheme.cast(), act) }
}

/// Records that these packets are lost, as detected by acknowledgements of later packets or by
/// time. Writes the verdict if they begin a new loss event; otherwise, `found` of the verdict is
/// `NONE`. `verdict` may be null.
///
/// # Safety
/// `numbers` must point to `count` numbers. All pointers must satisfy the
/// [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_on_lost(
    scheme: *mut Scheme,
    numbers: *const u64,
    count: usize,
    now_ns: u64,
    verdict: *mut Verdict,
) -> Status {
    let act = |live: &mut Live| {
        // SAFETY: `numbers` is null or points to `count` elements that outlive the call.
        let numbers = unsafe { held::inputs(numbers, count)? };
        held::checked(verdict)?;
        let now = live.advance(now_ns)?;
        let said = live
            .connection
            .on_packets_lost(numbers.iter().copied(), now);
        // SAFETY: `verdict` is null or points to memory for the result.
        unsafe { tell(verdict, said) }
    };
    // SAFETY: `scheme` is null or the memory of an object that only this call uses.
    unsafe { held::with(scheme.cast(), act) }
}

/// Writes the verdict unless the pointer is null.
///
/// # Safety
/// See [`held::output`].
unsafe fn tell(verdict: *mut Verdict, said: Option<connection::Verdict>) -> Result<(), Status> {
    if verdict.is_null() {
        return Ok(());
    }
    // SAFETY: `verdict` is null or points to memory for the result.
    unsafe { held::output(verdict, said.into()) }
}

/// Records that the retransmission timer expired. Afterwards, report the packets that are given up
/// as lost. QUIC's probe timeout does not count (RFC 9002, section 6.2). `verdict` may be null.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_on_timeout(
    scheme: *mut Scheme,
    now_ns: u64,
    verdict: *mut Verdict,
) -> Status {
    let act = |live: &mut Live| {
        held::checked(verdict)?;
        let now = live.advance(now_ns)?;
        let said = live.connection.on_timeout(now);
        // SAFETY: `verdict` is null or points to memory for the result.
        unsafe { tell(verdict, Some(said)) }
    };
    // SAFETY: `scheme` is null or the memory of an object that only this call uses.
    unsafe { held::with(scheme.cast(), act) }
}

/// Records persistent congestion: everything sent over a long period was lost (RFC 9002, section
/// 7.6). Call it after `on_lost`. `verdict` may be null.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_on_persistent_congestion(
    scheme: *mut Scheme,
    now_ns: u64,
    verdict: *mut Verdict,
) -> Status {
    let act = |live: &mut Live| {
        held::checked(verdict)?;
        let now = live.advance(now_ns)?;
        let said = live.connection.on_persistent_congestion(now);
        // SAFETY: `verdict` is null or points to memory for the result.
        unsafe { tell(verdict, Some(said)) }
    };
    // SAFETY: `scheme` is null or the memory of an object that only this call uses.
    unsafe { held::with(scheme.cast(), act) }
}

/// Records that the last acknowledgement reports ECN-CE marks. They count once per recovery period.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_on_ecn(scheme: *mut Scheme, now_ns: u64) -> Status {
    let act = |live: &mut Live| {
        let now = live.advance(now_ns)?;
        live.connection.on_ecn_ce(now);
        Ok(())
    };
    // SAFETY: `scheme` is null or the memory of an object that only this call uses.
    unsafe { held::with(scheme.cast(), act) }
}

/// Undoes the effect of the last loss event, because all its packets have arrived after all.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_on_spurious(scheme: *mut Scheme, now_ns: u64) -> Status {
    let act = |live: &mut Live| {
        let now = live.advance(now_ns)?;
        live.connection.on_spurious(now);
        Ok(())
    };
    // SAFETY: `scheme` is null or the memory of an object that only this call uses.
    unsafe { held::with(scheme.cast(), act) }
}

/// Sets the size of full packets, in bytes; at least 1.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_on_mtu(scheme: *mut Scheme, mtu: u32) -> Status {
    let act = |live: &mut Live| {
        if mtu == 0 {
            return Err(Status::Range);
        }
        live.mtu = mtu;
        live.connection.on_mtu_change(mtu);
        Ok(())
    };
    // SAFETY: `scheme` is null or the memory of an object that only this call uses.
    unsafe { held::with(scheme.cast(), act) }
}

/// Writes the window, the bytes in flight, the pacing rate and the burst size. Send while the next
/// packet fits into the window.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_allowance(
    scheme: *mut Scheme,
    allowance: *mut Allowance,
) -> Status {
    let act = |live: &mut Live| {
        let pacing = live.connection.pacing_rate();
        let said = Allowance {
            window: live.connection.window(),
            in_flight: live.connection.in_flight(),
            pacing_bps: pacing.map_or(UNPACED, whyloss::Rate::as_bps),
            quantum: pacing.map_or(u64::MAX, |rate| congestion::send_quantum(rate, live.mtu)),
        };
        // SAFETY: `allowance` is null or points to memory for the result.
        unsafe { held::output(allowance, said) }
    };
    // SAFETY: `scheme` is null or the memory of an object that only this call uses.
    unsafe { held::with(scheme.cast(), act) }
}

/// Writes the verdict on the last loss event; before the first event, its `found` is `NONE`. A
/// classifier that revises its verdicts changes the cause when the recovery ends.
///
/// # Safety
/// The pointers must satisfy the [contract](crate#contract).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_verdict(
    scheme: *mut Scheme,
    verdict: *mut Verdict,
) -> Status {
    let act = |live: &mut Live| {
        // SAFETY: `verdict` is null or points to memory for the result.
        unsafe { held::output(verdict, live.connection.last_verdict().into()) }
    };
    // SAFETY: `scheme` is null or the memory of an object that only this call uses.
    unsafe { held::with(scheme.cast(), act) }
}
