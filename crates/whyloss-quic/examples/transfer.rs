//! Sends a file with quinn through real sockets on the loopback, under a scheme of this project.
//!
//! ```text
//! cargo run --release -p whyloss-quic --features sockets --example transfer -- FILE COPY [SCHEME]
//! ```
//!
//! A client sends FILE, and a server in the same process writes it to COPY. The default scheme is
//! `whyloss`. Only the three marked lines differ from any other program with quinn.

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::PrivatePkcs8KeyDer;
use quinn::{ClientConfig, Endpoint, ServerConfig, VarInt};
use whyloss::schemes::{self, Scheme};
use whyloss_quic::SchemeConfig;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Accepts one connection and writes its stream to a file.
async fn receive(server: &Endpoint, mut copy: File) -> Result<()> {
    let connection = server
        .accept()
        .await
        .ok_or("the endpoint is closed")?
        .await?;
    let mut stream = connection.accept_uni().await?;
    while let Some(chunk) = stream.read_chunk(1 << 16, true).await? {
        copy.write_all(&chunk.bytes)?;
    }
    Ok(())
}

async fn transfer(file: &str, copy: &str, scheme: Scheme) -> Result<()> {
    let file = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let copy = File::create(copy).map_err(|error| format!("{copy}: {error}"))?;
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let certificate = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let server = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())?;
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Endpoint::server(server, any_port)?;
    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let mut config = ClientConfig::with_root_certificates(Arc::new(roots))?;
    let mut transport = quinn::TransportConfig::default(); // 1
    transport.congestion_controller_factory(Arc::new(SchemeConfig::new(scheme))); // 2
    config.transport_config(Arc::new(transport)); // 3
    let mut client = Endpoint::client(any_port)?;
    client.set_default_client_config(config);

    let sending = async {
        let connection = client.connect(server.local_addr()?, "localhost")?.await?;
        let mut stream = connection.open_uni().await?;
        stream.write_all(&file).await?;
        stream.finish()?;
        stream.stopped().await?;
        Ok(connection)
    };
    let (connection, ()) = tokio::try_join!(sending, receive(&server, copy))?;
    let path = connection.stats().path;
    let (lost, sent) = (path.lost_packets, path.sent_packets);
    println!("{lost} of {sent} packets lost");
    connection.close(VarInt::from_u32(0), b"done");
    client.wait_idle().await;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = |index: usize, default| arguments.get(index).map_or(default, String::as_str);
    let scheme = schemes::find(name(2, "whyloss")).ok_or("no scheme has this name")?;
    let scheme = scheme.build(&[])?;
    transfer(name(0, "FILE"), name(1, "COPY"), scheme).await
}
