//! Runs both stacks over real UDP sockets on the loopback, with real TLS. 100 MB arrive completely
//! with every controller.

use std::fs::File;
use std::io::BufWriter;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};

use whyloss::congestion;
use whyloss::schemes::{self, Scheme};
use whyloss_quic::SchemeConfig;

const BYTES: usize = 100_000_000;

/// The port of a server behind an emulated link.
const LINKED: u16 = 6_005;

/// Returns the file to send, in which no two parts are equal.
fn file() -> Vec<u8> {
    let mut state = 1_u64;
    let mut draw = || {
        // Marsaglia's xorshift64 (Journal of Statistical Software 8(14), 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut file: Vec<u8> = (0..BYTES.div_ceil(8)).flat_map(|_| draw()).collect();
    file.truncate(BYTES);
    file
}

/// Returns every controller with a classifier that sometimes spares its window, and every named
/// scheme.
fn schemes() -> Vec<(&'static str, Scheme)> {
    let controllers = congestion::REGISTRY.iter().map(|entry| {
        let scheme = Scheme::of(entry.id, "keep", "fqrtt");
        (entry.id, scheme.expect("three known names"))
    });
    let named = schemes::REGISTRY.iter().map(|entry| {
        let scheme = entry.build(&[]);
        (entry.id, scheme.expect("its defaults"))
    });
    controllers.chain(named).collect()
}

/// The writer of a connection's log, for noq.
struct Once(Mutex<Option<BufWriter<File>>>);

impl ::noq::QlogFactory for Once {
    fn for_connection(
        &self,
        _: ::noq::Side,
        _: SocketAddr,
        _: ::noq::ConnectionId,
        _: std::time::Instant,
    ) -> Option<::noq::QlogConfig> {
        let writer = self.0.lock().ok()?.take()?;
        Some(::noq::QlogConfig::new(Box::new(writer)))
    }
}

/// The stacks have the same methods with the same names.
macro_rules! transfers {
    ($stack:ident, $log:item) => {
        mod $stack {
            use ::$stack::rustls::RootCertStore;
            use ::$stack::rustls::pki_types::PrivatePkcs8KeyDer;
            use ::$stack::{ClientConfig, Endpoint, ServerConfig, TransportConfig};

            use super::*;

            $log

            /// Returns a configuration whose connection writes a log, if `WHYLOSS_QLOG` names a
            /// directory.
            fn logged(end: &str) -> TransportConfig {
                let mut transport = TransportConfig::default();
                if let Some(directory) = std::env::var_os("WHYLOSS_QLOG") {
                    let name = concat!(stringify!($stack), "-");
                    let path = Path::new(&directory).join(format!("{name}{end}.sqlog"));
                    let file = File::create(path).expect("a directory");
                    log(&mut transport, BufWriter::new(file));
                }
                transport
            }

            fn endpoints(port: u16) -> (Endpoint, Endpoint, ClientConfig) {
                let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])
                    .expect("a certificate");
                let certificate = made.cert.der().clone();
                let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
                let mut roots = RootCertStore::empty();
                roots.add(certificate.clone()).expect("a good certificate");
                let client = ClientConfig::with_root_certificates(Arc::new(roots));
                let server = ServerConfig::with_single_cert(vec![certificate], key.into());
                let mut server = server.expect("a key");
                server.transport_config(Arc::new(logged("receiver")));
                let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
                let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
                (
                    Endpoint::server(server, address).expect("a socket"),
                    Endpoint::client(any_port).expect("a socket"),
                    client.expect("roots"),
                )
            }

            /// Sends the file under a scheme and compares the copy with the file. If there is a
            /// link, the client connects to the link.
            async fn transfer(file: &[u8], name: &str, scheme: Scheme, link: Option<SocketAddr>) {
                let port = if link.is_some() { LINKED } else { 0 };
                let (server, client, mut config) = endpoints(port);
                let mut transport = logged("sender");
                transport.congestion_controller_factory(Arc::new(SchemeConfig::new(scheme)));
                config.transport_config(Arc::new(transport));
                let address = server.local_addr().expect("it is bound");
                let address = link.unwrap_or(address);
                let sending = async {
                    let connection = client.connect_with(config, address, "localhost");
                    let connection = connection.expect("an address").await.expect("a handshake");
                    let mut stream = connection.open_uni().await.expect("a stream");
                    stream.write_all(file).await.expect("a peer that reads");
                    stream.finish().expect("not finished before");
                    stream
                        .stopped()
                        .await
                        .expect("a peer that reads to the end");
                    connection
                };
                let receiving = async {
                    let incoming = server.accept().await.expect("an open endpoint");
                    let connection = incoming.await.expect("a handshake");
                    let mut stream = connection.accept_uni().await.expect("a stream");
                    let mut buffer = vec![0; 1 << 16];
                    let mut at = 0;
                    while let Some(read) =
                        stream.read(&mut buffer).await.expect("a peer that sends")
                    {
                        assert!(
                            file[at..].starts_with(&buffer[..read]),
                            "{name}: differs from byte {at} on"
                        );
                        at += read;
                    }
                    assert_eq!(at, file.len(), "{name}: cut short");
                };
                let (connection, ()) = tokio::join!(sending, receiving);
                drop(connection);
            }

            #[test]
            fn a_file_arrives_whole_under_every_controller() {
                let file = file();
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime");
                for (name, scheme) in schemes() {
                    runtime.block_on(transfer(&file, name, scheme, None));
                    println!("{name}: whole");
                }
            }

            #[test]
            #[ignore = "runs behind `whyloss link --udp 0=127.0.0.1:6005 --`"]
            fn a_file_crosses_an_emulated_link() {
                let link = std::env::var("WHYLOSS_UDP").expect("the link's address");
                let link = link.parse().expect("an address");
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime");
                let scheme = schemes::find("whyloss").expect("it has this name");
                let scheme = scheme.build(&[]).expect("its defaults");
                let file = &file()[..3_000_000];
                runtime.block_on(transfer(file, "whyloss", scheme, Some(link)));
            }
        }
    };
}

transfers!(
    quinn,
    fn log(transport: &mut TransportConfig, writer: BufWriter<File>) {
        let mut log = ::quinn::QlogConfig::default();
        log.writer(Box::new(writer));
        transport.qlog_stream(log.into_stream());
    }
);
transfers!(
    noq,
    fn log(transport: &mut TransportConfig, writer: BufWriter<File>) {
        transport.qlog_factory(Arc::new(Once(Mutex::new(Some(writer)))));
    }
);
