//! Captures the packets that leave and reach one node.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use whyloss::Time;
use whyloss_link::{Ecn, Fate};

use super::packet::{Ends, Image};
use super::{Ways, close, comment, ends, open, refuse, write_frame};
use crate::observe::{Event, Watch};
use crate::output::{OutputError, create_file};
use crate::packet::Packet;
use crate::scenario::Scenario;

/// Captures the packets at one node, as a tool on that machine would: the packets that a host sends
/// and receives, or that a router forwards.
///
/// An event can report a later arrival. All packets are therefore kept in memory (about 200 bytes
/// each) until [`Self::finish`] sorts them. A packet that the node's outgoing link loses carries
/// the comment of [`super::Capture`].
pub struct NodeCapture {
    node: usize,
    name: String,
    nodes: Vec<String>,
    path: PathBuf,
    /// The near end of each link, and whether its channel comes before its queue.
    links: Vec<(usize, bool)>,
    sinks: Vec<usize>,
    ways: Ways,
    flows: Vec<Ends>,
    image: Image,
    frames: Vec<Kept>,
    end: Time,
    error: Option<OutputError>,
}

/// A frame that is kept until all are sorted.
struct Kept {
    at: Time,
    original: u32,
    stored: Box<[u8]>,
    comment: Option<Cow<'static, str>>,
}

impl NodeCapture {
    /// Begins a capture at the node with this index, to be written to `path`.
    pub fn new(scenario: &Scenario, node: usize, path: &Path) -> Self {
        let links = scenario.links.iter();
        Self {
            node,
            name: scenario.nodes[node].clone(),
            nodes: scenario.nodes.clone(),
            path: path.to_owned(),
            links: links
                .map(|link| (link.from, link.link.channel_before_queue))
                .collect(),
            sinks: scenario.flows.iter().map(|flow| flow.sink).collect(),
            ways: Ways::new(scenario),
            flows: ends(scenario),
            image: Image::default(),
            frames: Vec::new(),
            end: scenario.end,
            error: None,
        }
    }

    /// Sorts the packets and writes the file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn finish(mut self) -> Result<(), OutputError> {
        if let Some(error) = self.error {
            return Err(error);
        }
        self.frames.sort_by_key(|frame| frame.at);
        let file = std::io::BufWriter::new(create_file(&self.path)?);
        let description = (self.name.as_str(), "packets as they pass the node", None);
        let mut writer =
            open(file, &self.nodes, description).map_err(|error| refuse(&self.path, error))?;
        for Kept {
            at,
            original,
            stored,
            comment,
        } in self.frames
        {
            write_frame(&mut writer, at, (original, &stored), comment)
                .map_err(|error| refuse(&self.path, error))?;
        }
        close(writer, &self.path)
    }

    fn record(&mut self, at: Time, packet: &Packet, comment: Option<Cow<'static, str>>) {
        if self.error.is_some() || at > self.end {
            return;
        }
        let drawn = self
            .image
            .draw(&mut self.flows[packet.flow as usize], packet);
        match drawn {
            Ok(()) => self.frames.push(Kept {
                at,
                original: self.image.original,
                stored: self.image.stored().into(),
                comment,
            }),
            Err(error) => self.error = Some(OutputError::new(&self.path, error)),
        }
    }
}

impl Watch for NodeCapture {
    fn on(&mut self, event: &Event<'_>) {
        if let Event::Offered {
            link,
            at,
            packet,
            waiting,
            fate,
            marked,
        } = *event
        {
            let flow = packet.flow as usize;
            self.ways.hear(link, packet, fate, &mut self.flows[flow]);
            let (near, corrupts_first) = self.links[link];
            if near == self.node {
                self.record(at, packet, comment(waiting, fate, marked, corrupts_first));
            }
            if let Fate::Delivered(arrival) | Fate::Damaged(arrival, _) = fate
                && self.ways.far[link] == self.node
            {
                let forward = !packet.payload.is_answer();
                let last = if forward {
                    self.sinks[flow]
                } else {
                    self.ways.sources[flow]
                };
                if last == self.node {
                    let ecn = if marked { Ecn::Marked } else { packet.ecn };
                    self.record(arrival, &Packet { ecn, ..*packet }, None);
                }
            }
        }
    }
}
