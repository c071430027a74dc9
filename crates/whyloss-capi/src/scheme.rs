//! A scheme over a connection whose packets have numbers: `whyloss::connection`.

use core::ffi::c_char;

use whyloss::connection::{self, Connection, MOST_PACKETS};
use whyloss::event::Detection;
use whyloss::{Duration, Time, congestion, policy, schemes, sender};

use crate::Why;
use crate::held::{self, Object, Status};
use crate::text::{self, Message, Parameters};

/// Packets that a scheme remembers by default.
pub const DEFAULT_PACKETS: usize = 1 << 14;

/// Pacing rate of a scheme that paces by acknowledgements alone.
pub const UNPACED: u64 = u64::MAX;

/// A connection under a scheme, in memory of the caller.
pub struct Scheme {
    _private: [u8; 0],
}

/// Options of `whyloss_scheme_init`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SchemeOptions {
    /// `WHYLOSS_ABI`.
    pub abi: u32,
    /// Bytes of a full packet, at least 1.
    pub mtu: u32,
    /// Name of a scheme (`"whyloss"`), or of a controller, a policy and a sender classifier
    /// (`"cubic/keep/trees"`).
    pub name: *const c_char,
    /// Parameters of these, such as `"percent=80"`, separated by commas. May be null.
    pub parameters: *const c_char,
    /// Packets under way that the scheme remembers: 0 (16,384) to 262,144. With one more, it
    /// forgets the oldest. `init` allocates room for all of them.
    pub packets: size_t,
}

/// So that the header says `size_t`.
#[allow(non_camel_case_types)]
type size_t = usize;

/// How much may be sent, and how fast.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Bytes that may be under way, at least two packets.
    pub window: u64,
    /// Bytes that are under way: sent, not acknowledged, not lost.
    pub in_flight: u64,
    /// Bit/s to pace packets at; `WHYLOSS_UNPACED`: send as acknowledgements arrive.
    pub pacing: u64,
    /// Bytes that may leave at once when paced.
    pub quantum: u64,
}

/// How a loss was found.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// No loss has been found, or this one belongs to an event told before.
    None = 0,
    /// Three later packets were acknowledged.
    Duplicates = 1,
    /// A later packet was acknowledged, and too much time has passed.
    Time = 2,
    /// The retransmission timer expired.
    Timeout = 3,
    /// Everything sent over a long period was lost.
    Persistent = 4,
}

/// Why packets were lost.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Cause; `UNKNOWN` exactly if `found` is `NONE`.
    pub cause: Why,
    /// How the loss was found.
    pub found: Found,
    /// Odds of congestion, p/(1 - p); NaN if the classifier weighs none.
    pub odds: f64,
    /// When it was found, nanoseconds.
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
    /// Number of the last packet sent.
    last: Option<u64>,
    /// The latest time told.
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

/// Puts together the scheme of that name.
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

/// Returns the bytes that a scheme takes, of memory as `malloc` returns it.
#[unsafe(no_mangle)]
pub extern "C" fn whyloss_scheme_size() -> usize {
    held::size::<Live>()
}

/// Writes the name of the scheme at `index`, counted from 0, into `room` bytes; `RANGE` behind the
/// last one, `MEMORY` if it does not fit. Sixty-four bytes hold any name.
///
/// # Safety
/// `name` is null, or `room` bytes may be written there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_name(
    index: usize,
    name: *mut c_char,
    room: usize,
) -> Status {
    // SAFETY: the caller says so.
    unsafe { text::name(schemes::REGISTRY, index, (name, room)) }
}

/// Starts a connection in `size` bytes at `scheme`, which hold no live object. If the status is
/// not `OK`, writes the reason into `room` bytes at `text`, which may be null.
///
/// # Safety
/// Each pointer is null, or points to what its description says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_init(
    scheme: *mut Scheme,
    size: usize,
    options: *const SchemeOptions,
    text: *mut c_char,
    room: usize,
) -> Status {
    // SAFETY: a program of another ABI has at least that number there; the caller says the rest.
    let abi = unsafe { held::input(options.cast::<u32>()) };
    let make = |message: &mut Message| {
        // SAFETY: the ABI is ours, so all options are there; the caller says the rest.
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
    // SAFETY: the caller says so.
    unsafe { held::init(scheme.cast(), size, (text, room), abi.ok().copied(), make) }
}

/// Frees what `init` allocated. The memory itself is the caller's, for another `init`.
///
/// # Safety
/// As the contract in the description of this interface says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_drop(scheme: *mut Scheme) -> Status {
    // SAFETY: the caller says so.
    unsafe { held::drop::<Live>(scheme.cast()) }
}

/// Packet `number` of `bytes` leaves. `app_limited` is not 0 if there is nothing more to send
/// although window and pacing would allow it. Numbers rise; packets that count towards nothing
/// under way (acknowledgements alone) are left out.
///
/// # Safety
/// As the contract in the description of this interface says.
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
    // SAFETY: the caller says so.
    unsafe { held::with(scheme.cast(), act) }
}

/// Tells the round trip of the acknowledgement told next, less the delay that the peer reports
/// (RFC 9002, section 5.3; at most its `max_ack_delay`), so that this delay does not look like a
/// queue. A value below the least round trip counts as that one, and a value above the scheme's own
/// measurement as its own.
///
/// # Safety
/// As the contract in the description of this interface says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_on_rtt(scheme: *mut Scheme, rtt_ns: u64) -> Status {
    let act = |live: &mut Live| {
        let rtt = i64::try_from(rtt_ns).unwrap_or(i64::MAX);
        live.connection.on_rtt(Duration::from_nanos(rtt));
        Ok(())
    };
    // SAFETY: the caller says so.
    unsafe { held::with(scheme.cast(), act) }
}

/// An acknowledgement arrives that acknowledges these packets anew. One call for each
/// acknowledgement, before `on_lost`. Numbers that are unknown or settled do nothing.
///
/// # Safety
/// `numbers` points to `count` numbers; the rest as the contract says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_on_acked(
    scheme: *mut Scheme,
    numbers: *const u64,
    count: usize,
    now_ns: u64,
) -> Status {
    let act = |live: &mut Live| {
        // SAFETY: the caller says so.
        let numbers = unsafe { held::inputs(numbers, count)? };
        let now = live.advance(now_ns)?;
        live.connection
            .on_packets_acked(numbers.iter().copied(), now);
        Ok(())
    };
    // SAFETY: the caller says so.
    unsafe { held::with(scheme.cast(), act) }
}

/// An acknowledgement arrives, by which every packet up to number `through` has arrived but the
/// `count` in `missing`, whose numbers rise. It stands for `on_acked` in a stack that keeps a list
/// of packets under way, but does not say which ones an acknowledgement removed from it.
///
/// # Safety
/// `missing` points to `count` numbers; the rest as the contract says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_on_acked_through(
    scheme: *mut Scheme,
    through: u64,
    missing: *const u64,
    count: usize,
    now_ns: u64,
) -> Status {
    let act = |live: &mut Live| {
        // SAFETY: the caller says so.
        let missing = unsafe { held::inputs(missing, count)? };
        if !missing.is_sorted() {
            return Err(Status::Order);
        }
        let now = live.advance(now_ns)?;
        live.connection
            .on_packets_acked_through(through, missing.iter().copied(), now);
        Ok(())
    };
    // SAFETY: the caller says so.
    unsafe { held::with(scheme.cast(), act) }
}

/// These packets are lost, by acknowledgements of later ones or by time. Writes the verdict if
/// that is a new loss event, else one whose `found` is `NONE`. `verdict` may be null.
///
/// # Safety
/// `numbers` points to `count` numbers; the rest as the contract says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_on_lost(
    scheme: *mut Scheme,
    numbers: *const u64,
    count: usize,
    now_ns: u64,
    verdict: *mut Verdict,
) -> Status {
    let act = |live: &mut Live| {
        // SAFETY: the caller says so.
        let numbers = unsafe { held::inputs(numbers, count)? };
        held::checked(verdict)?;
        let now = live.advance(now_ns)?;
        let said = live
            .connection
            .on_packets_lost(numbers.iter().copied(), now);
        // SAFETY: the caller says so.
        unsafe { tell(verdict, said) }
    };
    // SAFETY: the caller says so.
    unsafe { held::with(scheme.cast(), act) }
}

/// Writes a verdict where it is wanted.
///
/// # Safety
/// As [`held::output`].
unsafe fn tell(verdict: *mut Verdict, said: Option<connection::Verdict>) -> Result<(), Status> {
    if verdict.is_null() {
        return Ok(());
    }
    // SAFETY: the caller says so.
    unsafe { held::output(verdict, said.into()) }
}

/// The retransmission timer expired; packets given up are told as lost afterwards. QUIC's probe
/// timeout is none (RFC 9002, section 6.2). `verdict` may be null.
///
/// # Safety
/// As the contract in the description of this interface says.
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
        // SAFETY: the caller says so.
        unsafe { tell(verdict, Some(said)) }
    };
    // SAFETY: the caller says so.
    unsafe { held::with(scheme.cast(), act) }
}

/// Everything sent over a long period was lost (RFC 9002, section 7.6), after `on_lost` has told
/// of it. `verdict` may be null.
///
/// # Safety
/// As the contract in the description of this interface says.
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
        // SAFETY: the caller says so.
        unsafe { tell(verdict, Some(said)) }
    };
    // SAFETY: the caller says so.
    unsafe { held::with(scheme.cast(), act) }
}

/// The acknowledgement told last reports marks of ECN.
///
/// # Safety
/// As the contract in the description of this interface says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_on_ecn(scheme: *mut Scheme, now_ns: u64) -> Status {
    let act = |live: &mut Live| {
        let now = live.advance(now_ns)?;
        live.connection.on_ecn_ce(now);
        Ok(())
    };
    // SAFETY: the caller says so.
    unsafe { held::with(scheme.cast(), act) }
}

/// All packets that the last loss event called lost have arrived: its effect is undone.
///
/// # Safety
/// As the contract in the description of this interface says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_on_spurious(scheme: *mut Scheme, now_ns: u64) -> Status {
    let act = |live: &mut Live| {
        let now = live.advance(now_ns)?;
        live.connection.on_spurious(now);
        Ok(())
    };
    // SAFETY: the caller says so.
    unsafe { held::with(scheme.cast(), act) }
}

/// Packets have at most `mtu` bytes from now on, at least 1.
///
/// # Safety
/// As the contract in the description of this interface says.
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
    // SAFETY: the caller says so.
    unsafe { held::with(scheme.cast(), act) }
}

/// Writes how much may be sent, and how fast.
///
/// # Safety
/// As the contract in the description of this interface says.
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
            pacing: pacing.map_or(UNPACED, whyloss::Rate::as_bps),
            quantum: pacing.map_or(u64::MAX, |rate| congestion::send_quantum(rate, live.mtu)),
        };
        // SAFETY: the caller says so.
        unsafe { held::output(allowance, said) }
    };
    // SAFETY: the caller says so.
    unsafe { held::with(scheme.cast(), act) }
}

/// Writes the verdict on the last loss event; before the first, one whose `found` is `NONE`. A
/// classifier that revises its verdicts changes the cause when the recovery ends.
///
/// # Safety
/// As the contract in the description of this interface says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_scheme_verdict(
    scheme: *mut Scheme,
    verdict: *mut Verdict,
) -> Status {
    let act = |live: &mut Live| {
        // SAFETY: the caller says so.
        unsafe { held::output(verdict, live.connection.last_verdict().into()) }
    };
    // SAFETY: the caller says so.
    unsafe { held::with(scheme.cast(), act) }
}
