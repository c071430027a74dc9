//! Reads names and parameters from C and writes messages.

use core::ffi::{CStr, c_char};
use core::fmt;

use whyloss::registry::Entry;

use crate::Status;

/// The maximum number of parameters in a text.
const MOST_PARAMETERS: usize = 64;

/// A buffer for a message. The message is cut to the room and ends with a zero.
pub(crate) struct Message {
    text: *mut u8,
    /// The number of bytes left, including the final zero.
    room: usize,
    empty: bool,
}

impl Message {
    /// Returns a message at `text`, empty at first.
    ///
    /// # Safety
    /// `text` must be null, or point to `room` bytes that may be written while the message
    /// lives.
    pub(crate) unsafe fn new(text: *mut c_char, room: usize) -> Self {
        let text = text.cast::<u8>();
        let room = if text.is_null() { 0 } else { room };
        if room > 0 {
            // SAFETY: there is room for a byte.
            unsafe { text.write(0) };
        }
        Self {
            text,
            room,
            empty: true,
        }
    }

    /// Writes the message and returns its status.
    pub(crate) fn say(&mut self, status: Status, what: impl fmt::Display) -> Status {
        // A text that does not fit is cut.
        let _ = fmt::Write::write_fmt(self, format_args!("{what}"));
        status
    }

    /// Writes `text` if nothing has been written.
    pub(crate) fn default(&mut self, text: &CStr) {
        if self.empty {
            self.say(Status::Ok, text.to_str().unwrap_or_default());
        }
    }
}

impl fmt::Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.empty = false;
        let taken = text.floor_char_boundary(self.room.saturating_sub(1));
        if taken > 0 {
            // SAFETY: these bytes and a zero fit into the room.
            unsafe {
                self.text.copy_from_nonoverlapping(text.as_ptr(), taken);
                self.text = self.text.add(taken);
                self.text.write(0);
            }
            self.room -= taken;
        }
        if taken < text.len() {
            // Nothing may follow a part that was cut.
            self.room = 0;
            return Err(fmt::Error);
        }
        Ok(())
    }
}

/// Reads a text that may be null, which counts as empty.
///
/// # Safety
/// `text` must be null, or a string that ends with a zero and lives as long as the borrow.
pub(crate) unsafe fn read<'a>(
    text: *const c_char,
    message: &mut Message,
) -> Result<&'a str, Status> {
    if text.is_null() {
        return Ok("");
    }
    // SAFETY: `text` is not null, so it is a string that ends with a zero.
    let bytes = unsafe { CStr::from_ptr(text) };
    bytes
        .to_str()
        .map_err(|_| message.say(Status::Name, "a name or parameter is not UTF-8"))
}

/// Writes the name of the entry at `index` of a registry into `room` bytes.
///
/// # Safety
/// See [`Message::new`].
pub(crate) unsafe fn name<C>(
    registry: &[Entry<C>],
    index: usize,
    (text, room): (*mut c_char, usize),
) -> Status {
    if text.is_null() {
        return Status::Null;
    }
    // SAFETY: `text` is null or points to `room` writable bytes.
    let mut message = unsafe { Message::new(text, room) };
    let Some(entry) = registry.get(index) else {
        return Status::Range;
    };
    if entry.id.len() >= room {
        return Status::Memory;
    }
    message.say(Status::Ok, entry.id)
}

/// The parameters in a text such as `"upper=1.3, update_first=0"`, by name.
#[derive(Debug, Default)]
pub(crate) struct Parameters<'a> {
    given: Vec<(&'a str, f64)>,
}

impl<'a> Parameters<'a> {
    pub(crate) fn parse(text: &'a str, message: &mut Message) -> Result<Self, Status> {
        let mut given = vec![];
        for part in text.split(',').map(str::trim) {
            if part.is_empty() && text.trim().is_empty() {
                break;
            }
            let value = part.split_once('=');
            let value =
                value.and_then(|(name, value)| Some((name.trim(), value.trim().parse().ok()?)));
            let Some(value) = value else {
                let what = format_args!(
                    "`{part}` is no parameter; write name=number, separated by commas"
                );
                return Err(message.say(Status::Name, what));
            };
            given.push(value);
            if given.len() > MOST_PARAMETERS {
                let what = format_args!("there are more than {MOST_PARAMETERS} parameters");
                return Err(message.say(Status::Name, what));
            }
        }
        Ok(Self { given })
    }

    /// Builds the entry called `name`, which must accept all parameters.
    pub(crate) fn build<C>(
        &self,
        registry: &[Entry<C>],
        (family, name): (&str, &str),
        message: &mut Message,
    ) -> Result<C, Status> {
        let entry = find(registry, (family, name), message)?;
        entry
            .build(&self.given)
            .map_err(|error| message.say(Status::Name, error))
    }

    /// Builds the entry called `name` with the parameters that it accepts, and removes them.
    pub(crate) fn take<C>(
        &mut self,
        registry: &[Entry<C>],
        (family, name): (&str, &str),
        message: &mut Message,
    ) -> Result<C, Status> {
        let entry = find(registry, (family, name), message)?;
        let has = |given: &mut (&str, f64)| entry.parameters.iter().any(|p| p.name == given.0);
        let own: Vec<_> = self.given.extract_if(.., has).collect();
        entry
            .build(&own)
            .map_err(|error| message.say(Status::Name, error))
    }

    /// Returns an error if no part accepted a parameter.
    pub(crate) fn finish(&self, message: &mut Message) -> Result<(), Status> {
        let Some((name, _)) = self.given.first() else {
            return Ok(());
        };
        let what =
            format_args!("neither controller, policy nor classifier has a parameter `{name}`");
        Err(message.say(Status::Name, what))
    }
}

fn find<'r, C>(
    registry: &'r [Entry<C>],
    (family, name): (&str, &str),
    message: &mut Message,
) -> Result<&'r Entry<C>, Status> {
    let entry = registry.iter().find(|entry| entry.id == name);
    entry.ok_or_else(|| {
        let ids = || registry.iter().map(|entry| entry.id);
        if let Some(near) = whyloss::registry::nearest(name, ids()) {
            let what = format_args!("no {family} is called `{name}`; did you mean `{near}`?");
            return message.say(Status::Name, what);
        }
        let known = ids().collect::<Vec<_>>().join(", ");
        let what = format_args!("no {family} is called `{name}`; there are {known}");
        message.say(Status::Name, what)
    })
}
