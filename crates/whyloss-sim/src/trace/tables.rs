//! The five tables of a trace, with the name, unit, type and meaning of each column. All sinks and
//! the reference in `docs/reference/traces.md` follow this description.

/// A table of a trace.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    /// The name of the table and of its files.
    pub name: &'static str,
    /// The meaning of a row.
    pub row: &'static str,
    /// The columns, in the order of the file.
    pub columns: &'static [Column],
}

/// A column of a table.
#[derive(Debug, PartialEq, Eq)]
pub struct Column {
    /// The name, which ends with the unit if there is one.
    pub name: &'static str,
    /// The unit; empty if there is none.
    pub unit: &'static str,
    /// The kind of its values.
    pub kind: Kind,
    /// Whether a value may be missing.
    pub optional: bool,
    /// The meaning of its values.
    pub meaning: &'static str,
}

/// The kind of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The column has seconds, kept in whole nanoseconds.
    Seconds,
    /// The column has whole numbers.
    Whole,
    /// The column has real numbers.
    Real,
    /// The column has short strings, such as names of flows, links and causes.
    Word,
}

impl Column {
    /// Describes a column that has a value in every row.
    const fn new(
        name: &'static str,
        unit: &'static str,
        kind: Kind,
        meaning: &'static str,
    ) -> Self {
        Self {
            name,
            unit,
            kind,
            optional: false,
            meaning,
        }
    }

    /// Allows missing values in the column.
    #[must_use]
    pub const fn optional(mut self) -> Self {
        self.optional = true;
        self
    }
}

/// Defines a function for each unit and kind of a column.
macro_rules! columns {
    ($($function:ident: $unit:literal $kind:ident, $what:literal;)*) => {$(
        #[doc = concat!("Describes a column of ", $what, ".")]
        pub const fn $function(name: &'static str, meaning: &'static str) -> Column {
            Column::new(name, $unit, Kind::$kind, meaning)
        }
    )*};
}

columns! {
    seconds: "s" Seconds, "seconds";
    bytes: "bytes" Whole, "bytes";
    packets: "packets" Whole, "packets";
    bits: "bits" Whole, "bits";
    rate: "bytes/s" Real, "rates, in bytes per second";
    number: "" Whole, "whole numbers without a unit";
    word: "" Word, "words";
}

const FLOW: Column = word("flow", "the flow's name in the scenario");
const SEQUENCE: &str =
    "number of the packet, from 0 (TCP: number of the segment, which a retransmission keeps)";

/// The table of sources: the state of congestion control over time.
pub const SOURCES: Table = Table {
    name: "sources",
    row: "change at a source with congestion control",
    columns: &[
        seconds("time_s", "time of an acknowledgement, feedback or a timer; the other columns hold after the source reacted to it"),
        FLOW,
        bytes("cwnd_bytes", "the congestion window (TCP, IFTP, web)").optional(),
        bytes("ssthresh_bytes", "the slow start threshold, if there is one yet (TCP, IFTP, web)").optional(),
        bytes("in_flight_bytes", "bytes sent since the last timeout, and not acknowledged cumulatively (TCP, IFTP, web)").optional(),
        rate("rate_bytes_per_s", "the rate at which packets may leave: TFRC's allowed rate; TCP's pacing rate, if it paces (BBR); for IFTP, packet size divided by the time between packets").optional(),
        seconds("rtt_s", "the latest round-trip time measured (TCP, IFTP, web)").optional(),
        seconds("srtt_s", "the smoothed round-trip time (TFRC: R)").optional(),
        seconds("rto_s", "the retransmission timeout in force, back-off included (TCP, web)").optional(),
    ],
};

/// The table of data packets that arrived at their sink.
pub const ARRIVALS: Table = Table {
    name: "arrivals",
    row: "data packet at its sink, duplicates included (the input of a receiver classifier)",
    columns: &[
        seconds("time_s", "arrival of the last bit"),
        FLOW,
        packets("sequence", SEQUENCE),
        seconds("rott_s", "relative one-way trip time: arrival − departure from the source"),
        bytes("size_bytes", "size on the wire, headers included"),
        bits("first_damaged_bit", "position of the first damaged bit outside the flow's coverage, from the start of the packet; missing if none is damaged").optional(),
        number("ce", "1 if a queue marked the packet (ECN-CE); missing if none did").optional(),
    ],
};

/// The table of lost data packets.
pub const LOSSES: Table = Table {
    name: "losses",
    row: "data packet lost",
    columns: &[
        seconds("time_s", "time of the loss: arrival at a full queue, departure of the last bit into a noisy link, or arrival at a sink that drops damaged packets"),
        FLOW,
        packets("sequence", SEQUENCE),
        word("where", "the link's name in the scenario, or the name of the sink's node"),
        word("truth", "`congestion` or `wireless`"),
        word("verdict", "verdict of the flow's classifier, at the receiver (TFRC) or the sender (TCP, QUIC, IFTP); missing if there is none").optional(),
        seconds("verdict_time_s", "time of the event that revealed the loss: an arrival (TFRC), a duplicate acknowledgement or a timeout (TCP, IFTP); missing without `verdict`").optional(),
        seconds("sent_s", "departure of the packet from its source"),
    ],
};

/// The table of packets that reached a link.
pub const LINKS: Table = Table {
    name: "links",
    row: "packet that reaches the near end of a link, acknowledgements and feedback included",
    columns: &[
        seconds("time_s", "arrival at the near end of the link"),
        word("link", "the link's name in the scenario"),
        FLOW,
        bytes("size_bytes", "size on the wire, headers included"),
        packets(
            "waiting",
            "packets waiting at its arrival, without the one in transmission; 0 if the queue has no limit",
        ),
        word(
            "fate",
            "`delivered`; `marked` (delivered with an ECN mark of this queue); `damaged` (delivered with bits that this link damaged, marked or not); `congestion` (dropped by the queue); `wireless` (lost on the channel)",
        ),
        seconds("done_s", "arrival at the far end, or time of the loss"),
    ],
};

/// The table of transfers that began.
pub const TRANSFERS: Table = Table {
    name: "transfers",
    row: "transfer",
    columns: &[
        seconds("time_s", "its beginning"),
        FLOW,
        bytes("size_bytes", "payload (TCP, web: of whole segments)"),
        seconds(
            "done_s",
            "arrival of its last data at the sink; missing if the run ended before",
        )
        .optional(),
    ],
};

/// The tables of a trace.
pub const TABLES: [&Table; 5] = [&SOURCES, &ARRIVALS, &LOSSES, &LINKS, &TRANSFERS];

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    const REFERENCE: &str = include_str!("../../../../docs/reference/traces.md");

    /// Returns the text that `docs/reference/traces.md` must contain.
    fn reference(table: &Table) -> String {
        let mut text = format!(
            "### `{}`: one row for each {}\n\n| column | unit | meaning |\n|---|---|---|\n",
            table.name, table.row
        );
        for column in table.columns {
            let _ = writeln!(
                text,
                "| `{}` | {} | {} |",
                column.name, column.unit, column.meaning
            );
        }
        text
    }

    #[test]
    fn the_reference_has_every_column() {
        for table in TABLES {
            let reference = reference(table);
            assert!(
                REFERENCE.contains(&reference),
                "docs/reference/traces.md should have:\n{reference}"
            );
        }
    }

    #[test]
    fn names_are_distinct_and_end_with_their_unit() {
        for table in TABLES {
            for (index, column) in table.columns.iter().enumerate() {
                assert!(
                    table.columns[..index]
                        .iter()
                        .all(|other| other.name != column.name)
                );
                match column.unit {
                    "s" => assert!(column.name.ends_with("_s")),
                    "bytes" => assert!(column.name.ends_with("_bytes")),
                    "bytes/s" => assert!(column.name.ends_with("_bytes_per_s")),
                    _ => {}
                }
            }
        }
    }
}
