//! The parts of the noq engine that differ from the quinn engine; `engine.rs` has the rest.

use std::any::Any;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use noq_proto as proto;
use noq_proto::congestion::{self, Bbr3Config as OwnBbr, ControllerFactory};
use noq_proto::crypto;
use noq_proto::transport_parameters::TransportParameters;
use whyloss::{Duration, Time};
use whyloss_sim::Closed;
use whyloss_sim::host::outside::{Beginning, Host, Hosts};
use whyloss_sim::host::quic::{Controller, Own};
use whyloss_sim::observe::SourceState;

use super::handshake::{Handshake, TAG};
use crate::SchemeConfig;

super::engine::hosts!(id: proto::ConnectionId, session: [&self], path: [_path_id: proto::PathId,]);

fn endpoint(
    config: Arc<proto::EndpointConfig>,
    server: Option<Arc<proto::ServerConfig>>,
) -> proto::Endpoint {
    proto::Endpoint::new(config, server, false)
}

fn count_connection_ids(config: &mut proto::EndpointConfig) {
    config.cid_generator(Arc::new(|| Box::new(Counter(0))));
}

/// Writes up to `most` bytes to a stream. Returns the number of bytes written.
fn fill(connection: &mut proto::Connection, stream: proto::StreamId, most: u64) -> u64 {
    let mut stream = connection.send_stream(stream);
    let written = stream.write_chunks(&mut &mut [data(most)][..]);
    written.map_or(0, |written| written as u64)
}

fn handle(
    endpoint: &mut proto::Endpoint,
    now: Instant,
    data: BytesMut,
    reply: &mut Vec<u8>,
) -> Option<proto::DatagramEvent> {
    let path = proto::FourTuple::new(ADDRESS, None);
    endpoint.handle(now, path, None, data, reply)
}

fn transmit(connection: &mut proto::Connection, now: Instant, datagram: &mut Vec<u8>) -> bool {
    connection
        .poll_transmit(now, NonZeroUsize::MIN, datagram)
        .is_some()
}

fn state(connection: &proto::Connection) -> SourceState {
    let path = proto::PathId::ZERO;
    let metrics = connection
        .congestion_state(path)
        .map(congestion::Controller::metrics);
    SourceState {
        cwnd: metrics.as_ref().map(|metrics| metrics.congestion_window),
        ssthresh: metrics.and_then(|metrics| metrics.ssthresh),
        srtt: connection.rtt(path).map(Into::into),
        ..SourceState::default()
    }
}

impl crypto::HandshakeTokenKey for NoSecrets {
    fn seal(&self, _token_nonce: u128, data: &mut Vec<u8>) -> Result<(), crypto::CryptoError> {
        data.extend([0; TAG]);
        Ok(())
    }

    fn open<'a>(
        &self,
        _token_nonce: u128,
        data: &'a mut [u8],
    ) -> Result<&'a [u8], crypto::CryptoError> {
        let length = data.len().checked_sub(TAG).ok_or(crypto::CryptoError)?;
        Ok(&data[..length])
    }
}
