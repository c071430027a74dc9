//! The parts of the quinn engine that differ from the noq engine; `engine.rs` has the rest.

use std::any::Any;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use quinn_proto as proto;
use quinn_proto::congestion::{self, BbrConfig as OwnBbr, ControllerFactory};
use quinn_proto::crypto;
use quinn_proto::transport_parameters::TransportParameters;
use whyloss::{Duration, Time};
use whyloss_sim::Closed;
use whyloss_sim::host::outside::{Beginning, Host, Hosts};
use whyloss_sim::host::quic::{Controller, Own};
use whyloss_sim::observe::SourceState;

use super::handshake::{Handshake, TAG};
use crate::SchemeConfig;

super::engine::hosts!(id: &proto::ConnectionId, session: [self: Arc<Self>], path: []);

fn endpoint(
    config: Arc<proto::EndpointConfig>,
    server: Option<Arc<proto::ServerConfig>>,
) -> proto::Endpoint {
    proto::Endpoint::new(config, server, false, None)
}

fn count_connection_ids(config: &mut proto::EndpointConfig) {
    config.cid_generator(|| Box::new(Counter(0)));
}

/// Writes up to `most` bytes to a stream. Returns the number of bytes written.
fn fill(connection: &mut proto::Connection, stream: proto::StreamId, most: u64) -> u64 {
    let mut stream = connection.send_stream(stream);
    let written = stream.write_chunks(&mut [data(most)]);
    written.map_or(0, |written| written.bytes as u64)
}

fn handle(
    endpoint: &mut proto::Endpoint,
    now: Instant,
    data: BytesMut,
    reply: &mut Vec<u8>,
) -> Option<proto::DatagramEvent> {
    endpoint.handle(now, ADDRESS, None, None, data, reply)
}

fn transmit(connection: &mut proto::Connection, now: Instant, datagram: &mut Vec<u8>) -> bool {
    connection.poll_transmit(now, 1, datagram).is_some()
}

fn state(connection: &proto::Connection) -> SourceState {
    let metrics = connection.congestion_state().metrics();
    SourceState {
        cwnd: Some(metrics.congestion_window),
        ssthresh: metrics.ssthresh,
        srtt: Some(connection.rtt().into()),
        ..SourceState::default()
    }
}

impl crypto::HandshakeTokenKey for NoSecrets {
    fn aead_from_hkdf(&self, _random_bytes: &[u8]) -> Box<dyn crypto::AeadKey> {
        Box::new(Self)
    }
}

impl crypto::AeadKey for NoSecrets {
    fn seal(&self, data: &mut Vec<u8>, _additional_data: &[u8]) -> Result<(), crypto::CryptoError> {
        data.extend([0; TAG]);
        Ok(())
    }

    fn open<'a>(
        &self,
        data: &'a mut [u8],
        _additional_data: &[u8],
    ) -> Result<&'a mut [u8], crypto::CryptoError> {
        let length = data.len().checked_sub(TAG).ok_or(crypto::CryptoError)?;
        Ok(&mut data[..length])
    }
}
