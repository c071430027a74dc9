//! A receiver classifier over packets with sequence numbers: `whyloss::losses`.

use core::ffi::c_char;

use whyloss::losses::{self, HOLES, LossTracker, Seen};
use whyloss::receiver::{Arrival, Classifier, REGISTRY};
use whyloss::{Duration, Time};

use crate::Why;
use crate::held::{self, Object, Status};
use crate::text::{self, Message, Parameters};

/// Losses that one call tells at most.
pub const MOST_LOSSES: usize = 17;
const _: () = assert!(MOST_LOSSES == HOLES + 1);

/// Time at which nothing is due.
pub const NEVER: u64 = u64::MAX;

/// A receiver's tracker of losses, in memory of the caller.
pub struct Receiver {
    _private: [u8; 0],
}

/// Options of `whyloss_receiver_init`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ReceiverOptions {
    /// `WHYLOSS_ABI`.
    pub abi: u32,
    /// Bits of a sequence number, 2 to 64: RTP has 16.
    pub bits: u32,
    /// Name of a receiver classifier, such as `"trees"`.
    pub name: *const c_char,
    /// Its parameters, such as `"upper=1.3"`, separated by commas. May be null.
    pub parameters: *const c_char,
    /// Packets that may overtake a missing one before it counts as lost; 0: however many.
    pub wait_packets: u32,
    /// Nanoseconds until a missing packet counts as lost; 0: however many. If both are 0, it
    /// counts at once.
    pub wait_ns: u64,
}

/// Lost packets in a row.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Number of the first one, counted on past every wrap-around.
    pub first: u64,
    /// How many packets in a row were lost.
    pub count: u64,
    /// When the gap was revealed, on the receiver's clock, nanoseconds.
    pub revealed_ns: u64,
    /// Why they were lost.
    pub cause: Why,
}

/// The verdict on a packet's arrival.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// The first packet of all.
    First = 0,
    /// A new packet.
    New = 1,
    /// A packet that was waited for: it was overtaken, not lost.
    Late = 2,
    /// A packet that was given up, or is older than what is remembered.
    TooLate = 3,
    /// A packet that had arrived before.
    Duplicate = 4,
    /// A number out of nowhere. If the next one follows it, the sender has started anew.
    Suspect = 5,
    /// The sender has started anew: this is the second packet of the new count.
    Restart = 6,
}

/// The object behind [`Receiver`].
struct Live(LossTracker<Classifier>);

impl Object for Live {
    const LIVE: u64 = 0x7768_795f_7265_6365;
}

/// Losses on their way to the caller.
struct Told {
    losses: *mut Loss,
    count: usize,
}

impl Told {
    /// Room for the losses of a call.
    ///
    /// # Safety
    /// `losses` is null, misaligned, or `room` of them may be written there.
    unsafe fn new(losses: *mut Loss, room: usize) -> Result<Self, Status> {
        if losses.is_null() {
            return Err(Status::Null);
        }
        if !losses.is_aligned() {
            return Err(Status::Memory);
        }
        if room < MOST_LOSSES {
            return Err(Status::Memory);
        }
        Ok(Self { losses, count: 0 })
    }

    fn tell(&mut self, loss: losses::Loss) {
        debug_assert!(self.count < MOST_LOSSES);
        if self.count < MOST_LOSSES {
            let told = Loss {
                first: loss.first,
                count: loss.count,
                revealed_ns: loss.revealed.as_nanos(),
                cause: loss.cause.into(),
            };
            // SAFETY: `new` was promised room for so many, aligned.
            unsafe { self.losses.add(self.count).write(told) };
            self.count += 1;
        }
    }
}

/// Returns the bytes that a receiver takes, of memory as `malloc` returns it.
#[unsafe(no_mangle)]
pub extern "C" fn whyloss_receiver_size() -> usize {
    held::size::<Live>()
}

/// Writes the name of the receiver classifier at `index`, counted from 0, into `room` bytes;
/// `RANGE` behind the last one, `MEMORY` if it does not fit. Sixty-four bytes hold any name.
///
/// # Safety
/// `name` is null, or `room` bytes may be written there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_receiver_name(
    index: usize,
    name: *mut c_char,
    room: usize,
) -> Status {
    // SAFETY: the caller says so.
    unsafe { text::name(REGISTRY, index, (name, room)) }
}

/// Starts a receiver in `size` bytes at `receiver`, which hold no live object. If the status is
/// not `OK`, writes the reason into `room` bytes at `text`, which may be null.
///
/// # Safety
/// Each pointer is null, or points to what its description says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_receiver_init(
    receiver: *mut Receiver,
    size: usize,
    options: *const ReceiverOptions,
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
        let (bits, wait_ns) = (options.bits, options.wait_ns);
        if !(2..=64).contains(&bits) {
            let what = format_args!("bits is {bits}; sequence numbers have 2 to 64");
            return Err(message.say(Status::Range, what));
        }
        let parameters = Parameters::parse(parameters, message)?;
        let classifier = parameters.build(REGISTRY, ("receiver classifier", name), message)?;
        let mut tracker = LossTracker::new(classifier, bits);
        if options.wait_packets > 0 {
            tracker = tracker.wait_for_packets(options.wait_packets.into());
        }
        if wait_ns > 0 {
            let span = i64::try_from(wait_ns).unwrap_or(i64::MAX);
            tracker = tracker.wait_for(Duration::from_nanos(span));
        }
        Ok(Live(tracker))
    };
    // SAFETY: the caller says so.
    unsafe { held::init(receiver.cast(), size, (text, room), abi.ok().copied(), make) }
}

/// Ends the use of a receiver, which has allocated nothing.
///
/// # Safety
/// As the contract in the description of this interface says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_receiver_drop(receiver: *mut Receiver) -> Status {
    // SAFETY: the caller says so.
    unsafe { held::drop::<Live>(receiver.cast()) }
}

/// A packet of `bytes` arrives, stamped by the sender's clock and the receiver's. Writes the
/// packets that count as lost now to `losses`, which has `room` for at least
/// `WHYLOSS_MOST_LOSSES`, and their number to `count`. `seen` may be null.
///
/// # Safety
/// Each pointer is null, or points to what its description says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_receiver_on_packet(
    receiver: *mut Receiver,
    number: u64,
    sent_ns: u64,
    received_ns: u64,
    bytes: u32,
    losses: *mut Loss,
    room: usize,
    count: *mut usize,
    seen: *mut Packet,
) -> Status {
    let act = |live: &mut Live| {
        // SAFETY: the caller says so.
        let mut told = unsafe { Told::new(losses, room)? };
        held::checked(seen)?;
        // SAFETY: the caller says so.
        unsafe { held::output(count, 0)? };
        let (sent, received) = (Time::from_nanos(sent_ns), Time::from_nanos(received_ns));
        let packet = Arrival::new(number, sent, received, bytes);
        let was = match live.0.on_packet(&packet, |loss| told.tell(loss)) {
            Seen::First => Packet::First,
            Seen::Late => Packet::Late,
            Seen::TooLate => Packet::TooLate,
            Seen::Duplicate => Packet::Duplicate,
            Seen::Suspect => Packet::Suspect,
            Seen::Restart => Packet::Restart,
            _ => Packet::New,
        };
        // SAFETY: the caller says so.
        unsafe {
            held::output(count, told.count)?;
            if !seen.is_null() {
                held::output(seen, was)?;
            }
        }
        Ok(())
    };
    // SAFETY: the caller says so.
    unsafe { held::with(receiver.cast(), act) }
}

/// Writes the packets that count as lost by `now_ns` on the receiver's clock, as `on_packet` does.
///
/// # Safety
/// Each pointer is null, or points to what its description says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_receiver_on_timeout(
    receiver: *mut Receiver,
    now_ns: u64,
    losses: *mut Loss,
    room: usize,
    count: *mut usize,
) -> Status {
    let act = |live: &mut Live| {
        // SAFETY: the caller says so.
        let mut told = unsafe { Told::new(losses, room)? };
        // SAFETY: the caller says so.
        unsafe { held::output(count, 0)? };
        let now = Time::from_nanos(now_ns);
        live.0.on_timeout(now, |loss| told.tell(loss));
        // SAFETY: the caller says so.
        unsafe { held::output(count, told.count) }
    };
    // SAFETY: the caller says so.
    unsafe { held::with(receiver.cast(), act) }
}

/// Ends the stream at `now_ns` and writes the packets that are waited for, as `on_packet` does.
/// `last` points to the number of the last packet sent, or is null if that is not known. The next
/// packet begins another stream; the classifier keeps what it knows of the path.
///
/// # Safety
/// Each pointer is null, or points to what its description says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_receiver_finish(
    receiver: *mut Receiver,
    last: *const u64,
    now_ns: u64,
    losses: *mut Loss,
    room: usize,
    count: *mut usize,
) -> Status {
    let act = |live: &mut Live| {
        // SAFETY: the caller says so.
        let mut told = unsafe { Told::new(losses, room)? };
        // SAFETY: the caller says so.
        unsafe { held::output(count, 0)? };
        let last = if last.is_null() {
            None
        } else {
            // SAFETY: the caller says so.
            Some(*unsafe { held::input(last)? })
        };
        let now = Time::from_nanos(now_ns);
        live.0.finish(last, now, |loss| told.tell(loss));
        // SAFETY: the caller says so.
        unsafe { held::output(count, told.count) }
    };
    // SAFETY: the caller says so.
    unsafe { held::with(receiver.cast(), act) }
}

/// Writes when `on_timeout` is due if no packet arrives before; `WHYLOSS_NEVER`: not at all.
///
/// # Safety
/// As the contract in the description of this interface says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn whyloss_receiver_next_timeout(
    receiver: *mut Receiver,
    due_ns: *mut u64,
) -> Status {
    let act = |live: &mut Live| {
        // SAFETY: the caller says so.
        unsafe { held::output(due_ns, live.0.next_timeout().as_nanos()) }
    };
    // SAFETY: the caller says so.
    unsafe { held::with(receiver.cast(), act) }
}
