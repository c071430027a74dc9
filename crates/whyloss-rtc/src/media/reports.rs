//! Writes reports of arrivals as RTCP: transport-wide feedback, and RFC 8888.

use rtcp_types::{
    RtcpPacketWriter, RtcpPacketWriterExt, TransportFeedback, Twcc, TwccPacketStatus,
};
use whyloss::Time;

use super::packet::SSRC;

/// The maximum number of packets of a report, so that it fits into a datagram.
pub(crate) const MOST: usize = 500;
/// The step of transport-wide feedback in ns, and the number of steps of its reference time.
const STEP: u64 = 250_000;
const REFERENCE: u64 = 256;

/// Writes an RTCP packet.
pub(crate) fn rtcp(packet: &impl RtcpPacketWriter) -> Vec<u8> {
    let size = packet.calculate_size().unwrap_or(0);
    let mut bytes = vec![0; size];
    // Writing fails only if the size does not fit, and it does.
    let _ = packet.write_into(&mut bytes);
    bytes
}

/// Reports packets, starting at number `first`, each with its arrival; `count` numbers the report.
/// Returns the report and how many packets it covers.
pub(crate) fn twcc(
    first: u16,
    count: u8,
    arrivals: impl Iterator<Item = Option<Time>>,
) -> (Vec<u8>, usize) {
    let mut statuses = Vec::new();
    let mut clock: Option<(u64, i64)> = None;
    for arrival in arrivals.take(MOST) {
        let Some(at) = arrival else {
            statuses.push(TwccPacketStatus::NotReceived);
            continue;
        };
        let step = at.as_nanos() / STEP;
        let (_, last) = clock.get_or_insert((step / REFERENCE, (step - step % REFERENCE) as i64));
        // A gap of more than 8 s needs another report.
        let Ok(delta) = i16::try_from(step as i64 - *last) else {
            break;
        };
        *last = step as i64;
        statuses.push(TwccPacketStatus::Received { delta });
    }
    let reference = clock.map_or(0, |clock| clock.0 & 0xff_ffff) as u32;
    let fci = Twcc::builder(first, reference, count, &statuses, None);
    let packet = TransportFeedback::builder(&fci)
        .sender_ssrc(SSRC ^ 1)
        .media_ssrc(SSRC);
    (rtcp(&packet), statuses.len())
}

/// Reports packets at `now`, starting at number `first`. Returns the report and how many packets it
/// covers.
pub(crate) fn rfc8888(
    first: u16,
    now: Time,
    arrivals: impl Iterator<Item = Option<Time>>,
) -> (Vec<u8>, usize) {
    let metric = |arrival: Option<Time>| {
        let before = |at: Time| (now - at).as_secs_f64() * 1_024.0;
        // The second-largest value means this time or longer.
        arrival.map_or(0, |at| 0x8000 | before(at).clamp(0.0, 8_190.0) as u16)
    };
    let metrics: Vec<u16> = arrivals.take(MOST).map(metric).collect();
    let mut bytes = vec![0x8b, 205, 0, 0];
    bytes.extend((SSRC ^ 1).to_be_bytes());
    bytes.extend(SSRC.to_be_bytes());
    bytes.extend(first.to_be_bytes());
    bytes.extend((metrics.len() as u16).to_be_bytes());
    bytes.extend(metrics.iter().flat_map(|metric| metric.to_be_bytes()));
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let stamp = u128::from(now.as_nanos()) * 65_536 / 1_000_000_000;
    bytes.extend((stamp as u32).to_be_bytes());
    let words = (bytes.len() / 4 - 1) as u16;
    bytes[2..4].copy_from_slice(&words.to_be_bytes());
    (bytes, metrics.len())
}
