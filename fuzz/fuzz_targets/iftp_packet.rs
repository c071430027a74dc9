//! Fuzzes the parser of IFTP and IFTP-W packets with any bytes. It must refuse a packet, or encode
//! it to the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use whyloss::iftp::packet::{Format, Sum};

fuzz_target!(|input: (bool, bool, u32, &[u8])| {
    let (partial, wide_stamp, pseudo, bytes) = input;
    let format = Format {
        partial,
        wide_stamp,
    };
    let pseudo = Sum::default().with(&pseudo.to_be_bytes());
    if let Ok((header, covered)) = format.decode_data(bytes, pseudo) {
        assert!((format.data_header()..=bytes.len()).contains(&covered));
        let mut again = bytes.to_vec();
        let coverage = if partial { covered as u16 } else { 0 };
        assert_eq!(
            format.encode_data(&header, coverage, &mut again, pseudo),
            Ok(())
        );
        assert_eq!(format.decode_data(&again, pseudo), Ok((header, covered)));
        assert_eq!(again[format.data_header()..], bytes[format.data_header()..]);
    }
    if let Ok(header) = format.decode_ack(bytes, pseudo) {
        let mut again = [0; 16];
        let length = format
            .encode_ack(&header, &mut again, pseudo)
            .expect("there is room");
        assert_eq!(length, bytes.len());
        assert_eq!(format.decode_ack(&again[..length], pseudo), Ok(header));
    }
});
