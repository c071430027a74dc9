//! The registry: IFTP's schemes by name. Each is a sender classifier, since controller and policy are IFTP's own; whether
//! the checksum covers a section is the wire format's business.

use crate::registry;
use crate::sender::veno::Veno;
use crate::sender::{Classifier, Unaware};

/// One line of the registry.
pub type Entry = registry::Entry<Classifier>;

/// Every scheme of IFTP.
pub static REGISTRY: &[Entry] = &[
    Entry::new(
        ("iftp", "IFTP"),
        "a rate that emulates Reno's window, every loss congestion",
        "ElAarag, Moedinger & Hogg 2008, section 4",
        &[],
        |_| Ok(Unaware.into()),
    ),
    Entry::new(
        ("iftpv", "IFTPV"),
        "IFTP that asks enhanced Veno: a random loss costs nothing, or a fifth while congestion losses get more frequent",
        "ElAarag, Moedinger & Hogg 2008, section 10.2",
        &[],
        |_| Ok(Veno::iftpv().into()),
    ),
];

/// Finds the scheme of that id.
pub fn find(id: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.id == id)
}
