//! Passes events by hand to a trace and checks every field.

use std::fmt::Write as _;

use super::*;
use crate::decider::{RECEIVERS, SenderDecider};
use crate::host::tcp::Segment;
use crate::packet::Payload;
use crate::scenario::{Connection, Flow};
use whyloss::tfrc;

fn ms(millis: i64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

fn scenario() -> Scenario {
    let flow = |name: &str, transport| Flow::new(name, (0, 1), 762, transport);
    let link = |name: &str, from, to| Connection {
        name: name.to_owned(),
        from,
        to,
        link: whyloss_link::LinkSpec::default(),
    };
    let classifier = RECEIVERS.build("zigzag", &[]).expect("registered");
    let tfrc = Transport::Tfrc {
        options: tfrc::Options::rfc5348(),
        classifier: classifier.expect("in range"),
    };
    let tcp = Transport::Tcp {
        options: crate::host::tcp::Options::default(),
        classifier: SenderDecider::unaware(),
        controller: None,
    };
    Scenario {
        nodes: vec!["a".to_owned(), "b".to_owned()],
        links: vec![link("a->b", 0, 1), link("last, hop", 1, 0)],
        flows: vec![flow("tcp", tcp), flow("video", tfrc)],
        end: ms(1000),
        ..Scenario::default()
    }
}

fn packet(flow: u32, sequence: u64, sent: Time) -> Packet {
    let payload = if flow == 0 {
        Payload::Segment(Segment {
            sequence,
            stamp: sent,
            retransmission: false,
        })
    } else {
        let (rtt, t_rto) = (Duration::ZERO, Duration::ZERO);
        Payload::TfrcData(tfrc::Data {
            sequence,
            stamp: sent,
            rtt,
            t_rto,
            round: 0,
            urgent: false,
        })
    };
    Packet {
        hop: 0,
        flow,
        size: 762,
        first_damaged: Packet::WHOLE,
        ecn: whyloss_link::Ecn::NotCapable,
        ecn_flag: false,
        copy: false,
        sent,
        payload,
    }
}

/// Returns the state of a source with a window of `bytes` bytes.
fn window(bytes: u64, una: u64) -> SourceState {
    SourceState {
        cwnd: Some(bytes),
        in_flight: Some(762),
        rtt: Some(Duration::from_millis(7)),
        una,
        ..SourceState::default()
    }
}

fn acted<S: Sink>(trace: &mut Trace<S>, flow: usize, at: i64, state: &SourceState) {
    let at = ms(at);
    trace.on(&Event::Acted { flow, at, state });
}

fn offered<S: Sink>(
    trace: &mut Trace<S>,
    link: usize,
    at: i64,
    packet: &Packet,
    waiting: usize,
    fate: Fate,
) {
    trace.on(&Event::Offered {
        link,
        at: ms(at),
        packet,
        waiting,
        fate,
        marked: false,
    });
}

/// Passes losses of both flows, some with verdicts, and other events. The losses of the TFRC flow
/// are found out of order.
fn feed<S: Sink>(trace: &mut Trace<S>) {
    use Cause::{Congestion, Wireless};
    let rate = SourceState {
        rate: Some(0.5),
        ..SourceState::default()
    };
    acted(trace, 0, 0, &window(1524, 0));
    acted(trace, 0, 1, &window(1524, 0));
    acted(trace, 0, 2, &window(2286, 0));
    acted(trace, 1, 2, &rate);
    offered(trace, 0, 3, &packet(0, 0, ms(3)), 0, Fate::Delivered(ms(9)));
    let lost = |truth, at| Fate::Lost(truth, ms(at));
    offered(trace, 0, 4, &packet(0, 1, ms(4)), 1, lost(Wireless, 6));
    offered(trace, 0, 4, &packet(0, 2, ms(4)), 1, lost(Wireless, 7));
    offered(trace, 0, 5, &packet(1, 8, ms(5)), 2, lost(Congestion, 5));
    offered(trace, 1, 7, &packet(1, 7, ms(2)), 0, lost(Wireless, 8));
    trace.on(&Event::Arrived {
        flow: 0,
        at: ms(9),
        packet: &packet(0, 0, ms(10)),
        classifier: None,
    });
    // The sender's classifier judges segment 1. Its retransmission is also lost, without a verdict.
    trace.on(&Event::Judged {
        flow: 0,
        at: ms(11),
        sequence: 1,
        truth: Wireless,
        verdict: Congestion,
    });
    acted(trace, 0, 11, &window(1524, 1));
    offered(trace, 0, 11, &packet(0, 1, ms(11)), 0, lost(Congestion, 11));
    acted(trace, 0, 12, &window(1524, 3));
    trace.on(&Event::Judged {
        flow: 1,
        at: ms(12),
        sequence: 8,
        truth: Congestion,
        verdict: Wireless,
    });
    trace.on(&Event::Arrived {
        flow: 1,
        at: ms(12),
        packet: &packet(1, 9, ms(6)),
        classifier: None,
    });
    let transfer = |began, done: Option<i64>| Event::Transfer {
        flow: 0,
        began: ms(began),
        done: done.map(ms),
        size: 14_600,
    };
    trace.on(&transfer(2, Some(12)));
    trace.on(&transfer(8, Some(14)));
    trace.on(&transfer(9, None));
    let late = packet(0, 3, ms(2000));
    offered(trace, 0, 2000, &late, 0, lost(Wireless, 2000));
}

fn files(options: TraceOptions) -> String {
    let directory = tempfile::tempdir().unwrap();
    let sink = CsvFiles::create(directory.path()).unwrap();
    let mut trace = Trace::new(&scenario(), options, sink);
    feed(&mut trace);
    trace.finish().unwrap();
    let mut all = String::new();
    for table in tables::TABLES {
        let name = format!("{}.csv", table.name);
        let text = std::fs::read_to_string(directory.path().join(&name)).unwrap();
        write!(all, "{name}\n{text}\n").unwrap();
    }
    all
}

#[test]
fn tables_by_hand() {
    insta::assert_snapshot!(files(TraceOptions::default()));
}

/// The trace covers 4 ms to 9 ms, thinned to one row per 10 ms: it keeps all losses.
#[test]
fn part_of_the_tables() {
    let options = TraceOptions {
        from: ms(4),
        to: ms(9),
        thin: Duration::from_millis(10),
    };
    insta::assert_snapshot!(files(options));
}

/// Returns the cells of a table, row by row.
fn cells(batches: &[Batch], table: &tables::Table) -> Vec<Vec<Cell>> {
    let of_table = batches.iter().filter(|batch| batch.table() == table);
    of_table
        .flat_map(|batch| batch.rows().map(<[Cell]>::to_vec))
        .collect()
}

/// Packet 0 is damaged outside its coverage and delivered. Packet 1 is damaged inside it and
/// dropped by its sink, `b`.
#[test]
fn damage() {
    let mut trace = Trace::new(&scenario(), TraceOptions::default(), Vec::new());
    for (sequence, bit) in [(0, 4711), (1, 7)] {
        let mut packet = packet(1, sequence, ms(1));
        trace.on(&Event::Offered {
            link: 0,
            at: ms(1),
            packet: &packet,
            waiting: 0,
            fate: Fate::Damaged(ms(3), bit),
            marked: false,
        });
        packet.first_damaged = bit;
        if sequence == 0 {
            trace.on(&Event::Arrived {
                flow: 1,
                at: ms(3),
                packet: &packet,
                classifier: None,
            });
        } else {
            trace.on(&Event::Dropped {
                flow: 1,
                at: ms(4),
                packet: &packet,
            });
        }
    }
    trace.on(&Event::Judged {
        flow: 1,
        at: ms(5),
        sequence: 1,
        truth: Cause::Wireless,
        verdict: Cause::Wireless,
    });
    trace.on(&Event::Arrived {
        flow: 1,
        at: ms(5),
        packet: &packet(1, 2, ms(2)),
        classifier: None,
    });
    let batches = trace.finish().unwrap();
    let fates: Vec<Cell> = cells(&batches, &LINKS).iter().map(|row| row[5]).collect();
    assert_eq!(fates, [DAMAGED, DAMAGED]);
    let bits: Vec<Cell> = cells(&batches, &ARRIVALS)
        .iter()
        .map(|row| row[5])
        .collect();
    assert_eq!(bits, [Cell::Whole(4711), Cell::None]);
    let losses = cells(&batches, &LOSSES);
    let wireless = cause(Cause::Wireless);
    assert_eq!(
        losses[0][3..7],
        [Cell::Word(3), wireless, wireless, time(ms(5))]
    );
    let place = batches
        .iter()
        .find(|batch| *batch.table() == LOSSES)
        .unwrap();
    assert_eq!(place.words(3)[3], "b");
}

#[test]
fn a_directory_that_is_a_file_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let error = CsvFiles::create(file.path()).unwrap_err();
    assert_eq!(error.path, file.path());
}

/// A disk that is full from the start.
struct Full;

impl Sink for Full {
    fn write(&mut self, batch: &Batch) -> Result<(), OutputError> {
        let path = std::path::Path::new(batch.table().name);
        Err(OutputError::new(
            path,
            std::io::ErrorKind::StorageFull.into(),
        ))
    }

    fn finish(&mut self) -> Result<(), OutputError> {
        panic!("nothing of this is whole");
    }
}

/// The disk is full: nothing panics, and `finish` names the table that failed first.
#[test]
fn the_first_error_comes_back() {
    let mut trace = Trace::new(&scenario(), TraceOptions::default(), Full);
    for step in 0..2 * ROWS as i64 {
        let at = Time::ZERO + Duration::from_nanos(step);
        trace.on(&Event::Acted {
            flow: 0,
            at,
            state: &window(step.unsigned_abs(), 0),
        });
    }
    assert!(trace.error.is_some());
    feed(&mut trace);
    let Err(error) = trace.finish() else {
        panic!("the disk is full");
    };
    assert_eq!(error.path, std::path::Path::new("sources"));
    assert_eq!(error.source.kind(), std::io::ErrorKind::StorageFull);
}

/// Tables get their names when they are complete; an unfinished table leaves no file.
#[test]
fn an_unfinished_table_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let tables = || {
        let entries = std::fs::read_dir(directory.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with("csv")).count()
    };
    let sink = CsvFiles::create(directory.path()).unwrap();
    let mut trace = Trace::new(&scenario(), TraceOptions::default(), sink);
    feed(&mut trace);
    assert_eq!(tables(), 0);
    drop(trace);
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    let sink = CsvFiles::create(directory.path()).unwrap();
    Trace::new(&scenario(), TraceOptions::default(), sink)
        .finish()
        .unwrap();
    assert_eq!(tables(), 5);
}

/// Parquet and Arrow hold the data of the batches.
#[cfg(all(feature = "parquet", feature = "arrow"))]
#[test]
fn other_forms_hold_the_same() {
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int32Type, UInt64Type};

    let directory = tempfile::tempdir().unwrap();
    let sink = ParquetFiles::create(directory.path()).unwrap();
    let mut trace = Trace::new(&scenario(), TraceOptions::default(), sink);
    feed(&mut trace);
    trace.finish().unwrap();
    let mut trace = Trace::new(&scenario(), TraceOptions::default(), Vec::new());
    feed(&mut trace);
    for batch in trace.finish().unwrap() {
        let table = batch.table();
        let path = directory.path().join(format!("{}.parquet", table.name));
        let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
        let arrow = arrow::record_batch(&batch).unwrap();
        assert_eq!(arrow.num_rows(), batch.len());
        assert_eq!(
            reader.metadata().file_metadata().num_rows(),
            batch.len() as i64
        );
        for (at, (row, cells)) in reader
            .get_row_iter(None)
            .unwrap()
            .zip(batch.rows())
            .enumerate()
        {
            let row = row.unwrap();
            for (index, ((name, field), &cell)) in row.get_column_iter().zip(cells).enumerate() {
                assert_eq!(name, table.columns[index].name);
                let column = arrow.column(index);
                match cell {
                    Cell::None => {
                        assert!(matches!(field, Field::Null) && column.is_null(at));
                    }
                    Cell::Nanos(_) | Cell::Real(_) => {
                        let value = cell.as_f64().unwrap();
                        assert_eq!(*field, Field::Double(value));
                        let there = column.as_primitive::<Float64Type>().value(at);
                        assert_eq!(there.to_bits(), value.to_bits());
                    }
                    Cell::Whole(value) => {
                        assert_eq!(*field, Field::ULong(value));
                        assert_eq!(column.as_primitive::<UInt64Type>().value(at), value);
                    }
                    Cell::Word(word) => {
                        let value = &batch.words(index)[word as usize];
                        assert_eq!(*field, Field::Str(value.clone()));
                        let words = column.as_dictionary::<Int32Type>();
                        let words = words.downcast_dict::<arrow_array::StringArray>().unwrap();
                        assert_eq!(arrow_array::ArrayAccessor::value(&words, at), value);
                    }
                }
            }
        }
    }
}

/// The table of losses has every scored verdict.
#[test]
fn verdicts_are_those_that_are_scored() {
    let text = r#"
        duration = "40 s"
        link = [{ name = "radio", from = "a", to = "b", rate = "2 Mbit/s", delay = "20 ms", queue = { packets = 8 }, channel = { kind = "bernoulli", loss = 0.02 }, reverse_channel = { kind = "bernoulli", loss = 0.02 } }]
        flow = [
            { name = "{i}", count = 2, from = "a", to = "b", transport = { kind = "tcp", controller = "veno" }, classifier = "veno" },
            { name = "iftp", from = "a", to = "b", transport = "iftp", classifier = "veno-enhanced" },
            { name = "tfrc", from = "a", to = "b", transport = "tfrc", classifier = "zigzag" },
            { name = "cbr", from = "a", to = "b", transport = { kind = "cbr", rate = "200 kbit/s" } },
        ]
    "#;
    let scenario = Scenario::of(text);
    let mut trace = Trace::new(&scenario, TraceOptions::default(), Vec::new());
    let measured = crate::Simulation::new(&scenario, 1)
        .watch(&mut trace)
        .run()
        .unwrap();
    let batches = trace.finish().unwrap();
    let losses = cells(&batches, &LOSSES);
    for (index, flow) in measured.flows.iter().enumerate() {
        let rows = || losses.iter().filter(|row| row[1] == word(index));
        let lost = flow.lost.congestion + flow.lost.wireless;
        assert_eq!(rows().count() as u64, lost, "{}", flow.name);
        for truth in [Cause::Congestion, Cause::Wireless] {
            for verdict in [Cause::Congestion, Cause::Wireless] {
                let called = |row: &&Vec<Cell>| row[4] == cause(truth) && row[5] == cause(verdict);
                let count = rows().filter(called).count() as u64;
                assert_eq!(count, flow.packets.count(truth, verdict), "{}", flow.name);
            }
        }
        if flow.name != "cbr" {
            let said = rows().filter(|row| row[5] != Cell::None).count();
            assert!(said > 20, "{}: {said}", flow.name);
        }
    }
    let of = |index| move |row: &&Vec<Cell>| row[1] == word(index);
    let sources = cells(&batches, &SOURCES);
    let tcp = sources.iter().find(of(0)).unwrap();
    assert!(tcp[2] != Cell::None && tcp[4] != Cell::None && tcp[8] != Cell::None);
    let iftp = sources.iter().rfind(of(2)).unwrap();
    assert!(iftp[5] != Cell::None && iftp[6] != Cell::None);
    let tfrc = sources.iter().rfind(of(3)).unwrap();
    assert!(tfrc[2] == Cell::None && tfrc[5] != Cell::None && tfrc[7] != Cell::None);
}
