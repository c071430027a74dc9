//! Replaces TLS 1.3 in simulations by a handshake without secrets. Its messages have the sizes of
//! TLS and the contents that QUIC needs.
//!
//! ```text
//! client → server   Initial     hello, with the client's transport parameters           300 B
//! server → client   Initial     hello                                                    90 B
//!                   Handshake   parameters, certificate, finished                     1,900 B
//! client → server   Handshake   finished                                                 36 B
//! ```
//!
//! Nothing is encrypted; packets have a tag of 16 zero bytes. Every size and every round trip
//! equals that of TLS, and a seed fixes every byte.

/// The size in bytes of the tag of a packet, and of the sample for header protection.
pub(super) const TAG: usize = 16;

const CLIENT_HELLO: usize = 300;
const SERVER_HELLO: usize = 90;
const CERTIFICATE: usize = 1900;
const FINISHED: usize = 36;

/// The size of the length before a message, in bytes.
const PREFIX: usize = 4;

/// One side of a handshake.
#[derive(Debug)]
pub(super) struct Handshake {
    client: bool,
    /// The number of messages written so far.
    written: usize,
    read: usize,
    /// The received parts of unfinished messages.
    inbox: Vec<u8>,
    parameters: Vec<u8>,
    peer: Option<Vec<u8>>,
}

impl Handshake {
    /// Returns the handshake of an end with these transport parameters.
    pub(super) fn new(client: bool, parameters: Vec<u8>) -> Self {
        Self {
            client,
            written: 0,
            read: 0,
            inbox: Vec::new(),
            parameters,
            peer: None,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        if self.client {
            self.written == 3
        } else {
            self.read == 2
        }
    }

    /// Returns the peer's transport parameters, once they are known.
    pub(super) fn peer(&self) -> Option<&[u8]> {
        self.peer.as_deref()
    }

    /// Handles bytes of the peer's messages. Returns whether they are valid.
    pub(super) fn read(&mut self, bytes: &[u8]) -> bool {
        self.inbox.extend_from_slice(bytes);
        while let Some(length) = self.inbox.first_chunk::<PREFIX>() {
            let end = PREFIX + u32::from_be_bytes(*length) as usize;
            if end > 1 << 16 {
                return false;
            }
            if self.inbox.len() < end {
                break;
            }
            let body = self.inbox[PREFIX..end].to_vec();
            self.inbox.drain(..end);
            // The first message of the client and the second of the server contain the transport
            // parameters.
            if self.read == usize::from(self.client) {
                let Some((length, rest)) = body.split_first_chunk::<PREFIX>() else {
                    return false;
                };
                let Some(parameters) = rest.get(..u32::from_be_bytes(*length) as usize) else {
                    return false;
                };
                self.peer = Some(parameters.to_vec());
            }
            self.read += 1;
        }
        true
    }

    /// Writes the next message, if it is due. Returns whether the keys of the next level are then
    /// available.
    pub(super) fn write(&mut self, out: &mut Vec<u8>) -> bool {
        match (self.client, self.written, self.read) {
            (true, 0, _) => self.send(out, CLIENT_HELLO, true),
            // The server's hello gives the keys of this level without an answer.
            (true, 1, 1..) => {
                self.written = 2;
                return true;
            }
            (true, 2, 2..) => self.send(out, FINISHED, false),
            (false, 0, 1..) => self.send(out, SERVER_HELLO, false),
            (false, 1, _) => self.send(out, CERTIFICATE, true),
            _ => return false,
        }
        !(self.client && self.written == 1)
    }

    fn send(&mut self, out: &mut Vec<u8>, size: usize, parameters: bool) {
        let mut body = Vec::with_capacity(size);
        if parameters {
            body.extend((self.parameters.len() as u32).to_be_bytes());
            body.extend_from_slice(&self.parameters);
        }
        body.resize(body.len().max(size - PREFIX), 0);
        out.extend((body.len() as u32).to_be_bytes());
        out.append(&mut body);
        self.written += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_learn_the_parameters_and_come_to_an_end() {
        let mut client = Handshake::new(true, vec![1, 2, 3]);
        let mut server = Handshake::new(false, vec![4; 400]);
        let flight = |from: &mut Handshake| {
            let mut out = Vec::new();
            let keys = from.write(&mut out);
            (out, keys)
        };
        assert_eq!(flight(&mut server), (Vec::new(), false));
        let (hello, keys) = flight(&mut client);
        assert!((hello.len(), keys) == (CLIENT_HELLO, false));
        // The server also reads a message in parts.
        assert!(server.read(&hello[..7]) && server.peer().is_none());
        assert!(server.read(&hello[7..]));
        assert_eq!(server.peer(), Some(&[1, 2, 3][..]));
        let (first, keys) = flight(&mut server);
        assert!((first.len(), keys) == (SERVER_HELLO, true));
        let (second, keys) = flight(&mut server);
        assert!((second.len(), keys) == (CERTIFICATE, true));
        assert!(client.read(&first) && client.read(&second));
        assert_eq!(flight(&mut client), (Vec::new(), true));
        assert!(!client.is_over() && !server.is_over());
        let (finished, keys) = flight(&mut client);
        assert!((finished.len(), keys) == (FINISHED, true));
        assert_eq!(client.peer(), Some(&[4; 400][..]));
        assert!(server.read(&finished));
        assert!(client.is_over() && server.is_over());
        assert_eq!(flight(&mut client), (Vec::new(), false));
        assert_eq!(flight(&mut server), (Vec::new(), false));
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(!Handshake::new(false, Vec::new()).read(&[0xff; 8]));
        assert!(!Handshake::new(false, Vec::new()).read(&[0, 0, 0, 4, 0, 0, 1, 0]));
    }
}
