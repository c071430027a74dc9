//! Makes a connection of quinn or noq a host of the simulator. The engines of both stacks have
//! methods with the same names; `quinn.rs` and `noq.rs` contain the differences.

/// Defines `Peer`, one end of a connection, and `hosts`, with the `proto` and the functions of the
/// calling file. The handshake traits of the stacks differ in how they take connection ids and
/// sessions, and in whether a key depends on its path.
macro_rules! hosts {
    (id: $id:ty, session: [$($receiver:tt)+], path: [$($path:tt)*]) => {
        /// The address of the other end, which has no effect.
        const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 443);
        /// The bytes written to the stream at a time.
        static DATA: [u8; 1 << 16] = [0; 1 << 16];
        /// The limit of bytes written but not acknowledged, or received but not read. It is so
        /// high that it never blocks.
        const FLOW_CONTROL: u32 = 64 << 20;
        /// The resolution of timers. With a finer one, a deadline could be due again when it has
        /// just been handled.
        const TICK: Duration = Duration::from_micros(1);

        /// The two ends of a flow.
        pub(super) fn hosts(controller: &Controller, beginning: Beginning) -> Hosts {
            #[expect(
                clippy::disallowed_methods,
                reason = "only the epoch: all else is virtual time"
            )]
            let epoch = Instant::now();
            // Only the source uses the flow's controller. The sink sends only acknowledgements, so
            // it has NewReno.
            let [source, sink] = [controller, &Controller::Own(Own::NewReno)]
                .map(|controller| Arc::new(transport(controller, &beginning)));
            let [a, b, c, d] = beginning.seed.map(u64::to_le_bytes);
            let seed = |end: u8| {
                let mut seed = [0; 32];
                for (at, word) in [a, b, c, d].into_iter().enumerate() {
                    seed[8 * at..8 * at + 8].copy_from_slice(&word);
                }
                seed[0] ^= end;
                seed
            };
            let mut client = Peer::new(epoch, seed(1), None, &beginning);
            client.queue.endless = beginning.endless;
            client.connect(beginning.start, source);
            let mut server = proto::ServerConfig::new(Arc::new(NoSecrets), Arc::new(NoSecrets));
            server.transport_config(sink);
            let server = Peer::new(epoch, seed(2), Some(Arc::new(server)), &beginning);
            Hosts {
                source: Box::new(client),
                sink: Box::new(server),
            }
        }

        fn transport(controller: &Controller, beginning: &Beginning) -> proto::TransportConfig {
            let mut transport = proto::TransportConfig::default();
            let window = proto::VarInt::from_u32(FLOW_CONTROL);
            transport
                .initial_mtu(datagram(beginning))
                .mtu_discovery_config(None)
                .enable_segmentation_offload(false)
                .allow_spin(false)
                .max_idle_timeout(None)
                .stream_receive_window(window)
                .receive_window(window)
                .send_window(FLOW_CONTROL.into());
            let factory: Arc<dyn ControllerFactory + Send + Sync> = match *controller {
                Controller::Own(Own::NewReno) => Arc::new(congestion::NewRenoConfig::default()),
                Controller::Own(Own::Cubic) => Arc::new(congestion::CubicConfig::default()),
                Controller::Own(Own::Bbr) => Arc::new(OwnBbr::default()),
                Controller::Ours(spec) => {
                    Arc::new(SchemeConfig::with(beginning.judge.clone(), spec))
                }
            };
            transport.congestion_controller_factory(factory);
            transport
        }

        /// Returns the largest datagram.
        fn datagram(beginning: &Beginning) -> u16 {
            u16::try_from(beginning.datagram)
                .unwrap_or(u16::MAX)
                .min(65527)
        }

        /// One end of a connection.
        struct Peer {
            epoch: Instant,
            endpoint: proto::Endpoint,
            connection: Option<(proto::ConnectionHandle, proto::Connection)>,
            stream: Option<proto::StreamId>,
            client: bool,
            /// The data that the client has to send.
            queue: Queue,
            /// The number of complete transfers: acknowledged at the client, received at the
            /// server.
            whole: u64,
            delivered: u64,
            /// When and why the connection closed.
            closed: Option<Closed>,
            /// The engine's next deadline.
            timeout: Time,
            scratch: Vec<u8>,
        }

        impl Peer {
            fn new(
                epoch: Instant,
                seed: [u8; 32],
                server: Option<Arc<proto::ServerConfig>>,
                beginning: &Beginning,
            ) -> Self {
                let mut config = proto::EndpointConfig::new(Arc::new(NoSecrets));
                config.rng_seed(Some(seed));
                count_connection_ids(&mut config);
                // This cannot fail, because scenarios require at least 1200 bytes.
                let _ = config.max_udp_payload_size(datagram(beginning));
                Self {
                    client: server.is_none(),
                    endpoint: endpoint(Arc::new(config), server),
                    epoch,
                    connection: None,
                    stream: None,
                    queue: Queue::default(),
                    whole: 0,
                    delivered: 0,
                    closed: None,
                    timeout: Time::MAX,
                    scratch: Vec::new(),
                }
            }

            fn connect(&mut self, start: Time, transport: Arc<proto::TransportConfig>) {
                let mut config = proto::ClientConfig::new(Arc::new(NoSecrets));
                config
                    .transport_config(transport)
                    .initial_dst_cid_provider(Arc::new(|| proto::ConnectionId::new(&[7; 8])));
                let at = self.at(start);
                self.connection = self.endpoint.connect(at, config, ADDRESS, "sink").ok();
                self.act(start);
            }

            /// Returns the time of our clock as an instant of the engine.
            fn at(&self, now: Time) -> Instant {
                self.epoch + std::time::Duration::from_nanos(now.as_nanos())
            }

            /// Passes events between endpoint and connection. Writes or reads stream data as far as
            /// possible.
            fn act(&mut self, now: Time) {
                if let Some((handle, connection)) = &mut self.connection {
                    while let Some(event) = connection.poll_endpoint_events() {
                        if let Some(event) = self.endpoint.handle_event(*handle, event) {
                            connection.handle_event(event);
                        }
                    }
                    while let Some(event) = connection.poll() {
                        match event {
                            proto::Event::Stream(proto::StreamEvent::Finished { .. }) => {
                                self.whole += 1;
                            }
                            proto::Event::ConnectionLost { reason } => {
                                let reason = reason.to_string();
                                self.closed.get_or_insert(Closed { at: now, reason });
                            }
                            _ => {}
                        }
                    }
                    if self.client {
                        self.queue.write(connection, &mut self.stream);
                    } else {
                        let (bytes, whole) = read(connection, &mut self.stream);
                        self.delivered += bytes;
                        self.whole += whole;
                    }
                }
                self.look(now);
            }

            /// Reads the next deadline of the engine.
            fn look(&mut self, now: Time) {
                let epoch = self.epoch;
                let timeout = self
                    .connection
                    .as_mut()
                    .and_then(|(_, connection)| connection.poll_timeout());
                self.timeout = timeout.map_or(Time::MAX, |at| {
                    Time::from(at.saturating_duration_since(epoch)).max(now + TICK)
                });
            }
        }

        /// Returns the next bytes to write, at most `most`.
        fn data(most: u64) -> Bytes {
            Bytes::from_static(&DATA[..DATA.len().min(usize::try_from(most).unwrap_or(usize::MAX))])
        }

        /// The data of a source: one stream per transfer, or a single endless stream.
        #[derive(Default)]
        struct Queue {
            endless: bool,
            /// The bytes still to be written of each transfer. The first transfer is in progress.
            transfers: VecDeque<u64>,
        }

        impl Queue {
            /// Writes data until the send buffer is full.
            fn write(
                &mut self,
                connection: &mut proto::Connection,
                stream: &mut Option<proto::StreamId>,
            ) {
                while self.endless || !self.transfers.is_empty() {
                    if stream.is_none() && !connection.is_handshaking() {
                        *stream = connection.streams().open(proto::Dir::Uni);
                    }
                    let Some(id) = *stream else {
                        return;
                    };
                    if self.endless {
                        while fill(connection, id, u64::MAX) > 0 {}
                        return;
                    }
                    while let Some(left @ 1..) = self.transfers.front_mut() {
                        let written = fill(connection, id, *left);
                        if written == 0 {
                            return;
                        }
                        *left -= written;
                    }
                    // This fails only for a stream that the peer stopped, which this peer never
                    // does.
                    let _ = connection.send_stream(id).finish();
                    self.transfers.pop_front();
                    *stream = None;
                }
            }
        }

        /// Reads all received data in order. Returns the number of bytes and of ended streams.
        fn read(
            connection: &mut proto::Connection,
            stream: &mut Option<proto::StreamId>,
        ) -> (u64, u64) {
            let (mut bytes, mut ended) = (0, 0);
            loop {
                if stream.is_none() {
                    *stream = connection.streams().accept(proto::Dir::Uni);
                }
                let Some(id) = *stream else {
                    return (bytes, ended);
                };
                let mut over = false;
                if let Ok(mut chunks) = connection.recv_stream(id).read(true) {
                    loop {
                        match chunks.next(usize::MAX) {
                            Ok(Some(chunk)) => bytes += chunk.bytes.len() as u64,
                            Ok(None) => {
                                over = true;
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                    let _ = chunks.finalize();
                }
                if !over {
                    return (bytes, ended);
                }
                ended += 1;
                *stream = None;
            }
        }

        impl Host for Peer {
            fn receive(&mut self, now: Time, datagram: &[u8]) {
                let at = self.at(now);
                self.scratch.clear();
                let data = BytesMut::from(datagram);
                match handle(&mut self.endpoint, at, data, &mut self.scratch) {
                    Some(proto::DatagramEvent::ConnectionEvent(_, event)) => {
                        if let Some((_, connection)) = &mut self.connection {
                            connection.handle_event(event);
                        }
                    }
                    Some(proto::DatagramEvent::NewConnection(incoming)) => {
                        self.scratch.clear();
                        let accepted = self.endpoint.accept(incoming, at, &mut self.scratch, None);
                        self.connection = accepted.ok().or(self.connection.take());
                    }
                    // Ignore datagrams outside a connection, because no other host sends here.
                    Some(proto::DatagramEvent::Response(_)) | None => {}
                }
                self.act(now);
            }

            fn wake(&mut self, now: Time) {
                let at = self.at(now);
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_timeout(at);
                }
                self.act(now);
            }

            fn next_timeout(&self) -> Time {
                self.timeout
            }

            fn poll_transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> bool {
                let at = self.at(now);
                let sent = self
                    .connection
                    .as_mut()
                    .is_some_and(|(_, connection)| transmit(connection, at, datagram));
                self.look(now);
                sent
            }

            fn offer(&mut self, now: Time, bytes: u64) {
                self.queue.transfers.push_back(bytes);
                self.act(now);
            }

            fn finished(&self) -> u64 {
                self.whole
            }

            fn completed(&self) -> u64 {
                self.whole
            }

            fn delivered(&self) -> u64 {
                self.delivered
            }

            fn closed(&self) -> Option<Closed> {
                self.closed.clone()
            }

            fn state(&self) -> SourceState {
                self.connection
                    .as_ref()
                    .map_or_else(SourceState::default, |(_, connection)| state(connection))
            }
        }

        /// Generates connection ids by counting.
        struct Counter(u64);

        impl proto::ConnectionIdGenerator for Counter {
            fn generate_cid(&mut self) -> proto::ConnectionId {
                self.0 += 1;
                proto::ConnectionId::new(&self.0.to_be_bytes())
            }

            fn cid_len(&self) -> usize {
                8
            }

            fn cid_lifetime(&self) -> Option<std::time::Duration> {
                None
            }
        }

        /// Implements all keys, without encryption.
        struct NoSecrets;

        impl NoSecrets {
            fn keys() -> crypto::Keys {
                crypto::Keys {
                    header: crypto::KeyPair {
                        local: Box::new(Self),
                        remote: Box::new(Self),
                    },
                    packet: Self::packet_keys(),
                }
            }

            fn packet_keys() -> crypto::KeyPair<Box<dyn crypto::PacketKey>> {
                crypto::KeyPair {
                    local: Box::new(Self),
                    remote: Box::new(Self),
                }
            }
        }

        impl crypto::HeaderKey for NoSecrets {
            fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

            fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

            fn sample_size(&self) -> usize {
                TAG
            }
        }

        impl crypto::HmacKey for NoSecrets {
            fn sign(&self, _data: &[u8], signature_out: &mut [u8]) {
                signature_out.fill(0x5a);
            }

            fn signature_len(&self) -> usize {
                32
            }

            fn verify(&self, _data: &[u8], _signature: &[u8]) -> Result<(), crypto::CryptoError> {
                Ok(())
            }
        }

        /// A session of the [handshake without secrets](Handshake).
        struct Session {
            handshake: Handshake,
            side: proto::Side,
        }

        impl Session {
            fn new(side: proto::Side, parameters: &TransportParameters) -> Self {
                let mut own = Vec::new();
                parameters.write(&mut own);
                Self {
                    handshake: Handshake::new(side.is_client(), own),
                    side,
                }
            }

            fn peer_parameters(
                &self,
            ) -> Result<Option<TransportParameters>, proto::TransportError> {
                let Some(mut parameters) = self.handshake.peer() else {
                    return Ok(None);
                };
                Ok(Some(TransportParameters::read(self.side, &mut parameters)?))
            }

            fn take(&mut self, bytes: &[u8]) -> Result<bool, proto::TransportError> {
                if self.handshake.read(bytes) {
                    Ok(false)
                } else {
                    Err(proto::transport_parameters::Error::Malformed.into())
                }
            }
        }

        impl crypto::ClientConfig for NoSecrets {
            fn start_session(
                $($receiver)+,
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
                _dst_cid: $id,
            ) -> Result<crypto::Keys, crypto::UnsupportedVersion> {
                Ok(Self::keys())
            }

            fn retry_tag(
                &self,
                _version: u32,
                _orig_dst_cid: $id,
                _packet: &[u8],
            ) -> [u8; 16] {
                [0; 16]
            }

            fn start_session(
                $($receiver)+,
                _version: u32,
                params: &TransportParameters,
            ) -> Box<dyn crypto::Session> {
                Box::new(Session::new(proto::Side::Server, params))
            }
        }

        impl crypto::PacketKey for NoSecrets {
            fn encrypt(&self, $($path)* _packet: u64, _buf: &mut [u8], _header_len: usize) {}

            fn decrypt(
                &self,
                $($path)*
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

        impl crypto::Session for Session {
            fn initial_keys(&self, _dst_cid: $id, _side: proto::Side) -> crypto::Keys {
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
                _orig_dst_cid: $id,
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
    };
}

pub(super) use hosts;
