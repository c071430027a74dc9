//! quinn's engine as hosts, where it differs from noq's.

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
use whyloss_sim::host::outside::{Beginning, Host, Hosts};
use whyloss_sim::host::quic::{Controller, Own};
use whyloss_sim::observe::SourceState;

use super::handshake::{Handshake, TAG};
use crate::SchemeConfig;

super::engine::hosts!();

fn endpoint(
    config: Arc<proto::EndpointConfig>,
    server: Option<Arc<proto::ServerConfig>>,
) -> proto::Endpoint {
    proto::Endpoint::new(config, server, false, None)
}

fn count_connection_ids(config: &mut proto::EndpointConfig) {
    config.cid_generator(|| Box::new(Counter(0)));
}

/// Writes at most so many bytes to a stream. Returns how many there was room for.
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

impl crypto::ClientConfig for NoSecrets {
    fn start_session(
        self: Arc<Self>,
        _version: u32,
        _server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, proto::ConnectError> {
        Ok(Box::new(Session::new(proto::Side::Client, params)))
    }
}

impl crypto::ServerConfig for NoSecrets {
    fn initial_keys(
        &self,
        _version: u32,
        _dst_cid: &proto::ConnectionId,
    ) -> Result<crypto::Keys, crypto::UnsupportedVersion> {
        Ok(Self::keys())
    }

    fn retry_tag(
        &self,
        _version: u32,
        _orig_dst_cid: &proto::ConnectionId,
        _packet: &[u8],
    ) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(
        self: Arc<Self>,
        _version: u32,
        params: &TransportParameters,
    ) -> Box<dyn crypto::Session> {
        Box::new(Session::new(proto::Side::Server, params))
    }
}

impl crypto::PacketKey for NoSecrets {
    fn encrypt(&self, _packet: u64, _buf: &mut [u8], _header_len: usize) {}

    fn decrypt(
        &self,
        _packet: u64,
        _header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), crypto::CryptoError> {
        let length = payload.len().checked_sub(TAG).ok_or(crypto::CryptoError)?;
        payload.truncate(length);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
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

impl crypto::Session for Session {
    fn initial_keys(&self, _dst_cid: &proto::ConnectionId, _side: proto::Side) -> crypto::Keys {
        NoSecrets::keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn crypto::HeaderKey>, Box<dyn crypto::PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        !self.handshake.is_over()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, proto::TransportError> {
        self.take(buf)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, proto::TransportError> {
        self.peer_parameters()
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<crypto::Keys> {
        self.handshake.write(buf).then(NoSecrets::keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<crypto::KeyPair<Box<dyn crypto::PacketKey>>> {
        Some(NoSecrets::packet_keys())
    }

    fn is_valid_retry(
        &self,
        _orig_dst_cid: &proto::ConnectionId,
        _header: &[u8],
        _payload: &[u8],
    ) -> bool {
        false
    }

    fn export_keying_material(
        &self,
        _output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), crypto::ExportKeyingMaterialError> {
        Err(crypto::ExportKeyingMaterialError)
    }
}
