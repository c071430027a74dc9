//! Sends a file over QUIC, through real sockets on the loopback, with a classifier and a controller of ours.
//!
//! ```text
//! cargo run --release -p whyloss-quic --features sockets --example transfer -- FILE COPY [CONTROLLER [CLASSIFIER]]
//! ```
//!
//! A client sends FILE, a server in the same process writes it to COPY. Controller and classifier are CUBIC and fqRTT unless
//! named (`whyloss list`). The three lines that make it ours are marked in `client_config`; all else is any program with quinn.

use std::error::Error;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, VarInt};
use whyloss::schemes::Scheme;
use whyloss_quic::SchemeConfig;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A client that trusts this certificate, and sends under this scheme.
fn client_config(certificate: CertificateDer<'static>, scheme: Scheme) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let mut client = ClientConfig::with_root_certificates(Arc::new(roots))?;
    let mut transport = quinn::TransportConfig::default(); // 1
    transport.congestion_controller_factory(Arc::new(SchemeConfig::new(scheme))); // 2
    client.transport_config(Arc::new(transport)); // 3
    Ok(client)
}

/// A server with a certificate of its own making.
fn server_config() -> Result<(ServerConfig, CertificateDer<'static>)> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let certificate = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let server = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?;
    Ok((server, certificate))
}

/// Writes the file to a stream, and waits until the other end has it.
async fn send(connection: &Connection, file: &Path) -> Result<()> {
    let mut file = File::open(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut stream = connection.open_uni().await?;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        stream.write_all(&buffer[..read]).await?;
    }
    stream.finish()?;
    stream.stopped().await?;
    Ok(())
}

/// Takes one connection, and writes its stream to a file. Gives its bytes.
async fn receive(server: &Endpoint, copy: &Path) -> Result<u64> {
    let connection = server.accept().await.ok_or("the endpoint is closed")?;
    let connection = connection.await?;
    let mut stream = connection.accept_uni().await?;
    let mut file = File::create(copy).map_err(|error| format!("{}: {error}", copy.display()))?;
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0;
    while let Some(read) = stream.read(&mut buffer).await? {
        file.write_all(&buffer[..read])?;
        bytes += read as u64;
    }
    Ok(bytes)
}

async fn transfer(file: &Path, copy: &Path, scheme: Scheme) -> Result<()> {
    let (server, certificate) = server_config()?;
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Endpoint::server(server, any_port)?;
    let mut client = Endpoint::client(any_port)?;
    client.set_default_client_config(client_config(certificate, scheme)?);
    #[expect(clippy::disallowed_methods, reason = "how long it took is shown")]
    let start = Instant::now();
    let sending = async {
        let connection = client.connect(server.local_addr()?, "localhost")?.await?;
        send(&connection, file).await?;
        Ok(connection)
    };
    let (connection, bytes) = tokio::try_join!(sending, receive(&server, copy))?;
    let seconds = start.elapsed().as_secs_f64();
    let path = connection.stats().path;
    println!(
        "{bytes} bytes in {seconds:.2} s, {:.0} Mbit/s; {} of {} packets lost, {} congestion events",
        bytes as f64 * 8e-6 / seconds,
        path.lost_packets,
        path.sent_packets,
        path.congestion_events
    );
    connection.close(VarInt::from_u32(0), b"done");
    client.wait_idle().await;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (file, copy, controller, classifier) = match &arguments[..] {
        [file, copy] => (file, copy, "cubic", "fqrtt"),
        [file, copy, controller] => (file, copy, controller.as_str(), "fqrtt"),
        [file, copy, controller, classifier] => {
            (file, copy, controller.as_str(), classifier.as_str())
        }
        _ => {
            eprintln!("transfer: expected FILE COPY [CONTROLLER [CLASSIFIER]]");
            return ExitCode::from(2);
        }
    };
    let result = match Scheme::of(controller, "keep", classifier) {
        Ok(scheme) => transfer(file.as_ref(), copy.as_ref(), scheme).await,
        Err(error) => Err(error.into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("transfer: {error}");
            ExitCode::from(2)
        }
    }
}
