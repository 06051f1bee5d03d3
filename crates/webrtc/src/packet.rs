//! Classifies packets before decryption (RFC 7983): enough to drop those that no browser sends.

/// First bytes of DTLS, and of RTP and RTCP.
const DTLS: std::ops::RangeInclusive<u8> = 20..=63;
const RTP: std::ops::RangeInclusive<u8> = 128..=191;
/// Payload types that make it RTCP (RFC 5761 section 4), with the bit for a marker.
const RTCP: std::ops::RangeInclusive<u8> = 192..=223;
/// Bytes before the content of a DTLS 1.2 record (RFC 6347 section 4.1).
const RECORD_HEADER: usize = 13;
const APPLICATION_DATA: u8 = 23;

/// Returns the source (SSRC) of an RTP packet (RFC 3550 section 5.1).
pub(crate) fn rtp_source(packet: &[u8]) -> Option<u32> {
    let is_rtp = packet.first().is_some_and(|first| RTP.contains(first));
    let is_rtcp = packet.get(1).is_some_and(|second| RTCP.contains(second));
    let source = packet.get(8..12).filter(|_| is_rtp && !is_rtcp)?;
    source.try_into().ok().map(u32::from_be_bytes)
}

/// Returns whether a packet has a DTLS record of application data, which only data channels use.
pub(crate) fn has_application_data(packet: &[u8]) -> bool {
    let mut rest = packet;
    while let Some(header) = rest.get(..RECORD_HEADER).filter(|header| DTLS.contains(&header[0])) {
        if header[0] == APPLICATION_DATA {
            return true;
        }
        let length = usize::from(u16::from_be_bytes([header[11], header[12]]));
        rest = rest.get(RECORD_HEADER + length..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u8, content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(content.len()).expect("short").to_be_bytes();
        [&[kind, 254, 253, 0, 1, 0, 0, 0, 0, 0, 0][..], &length, content].concat()
    }

    #[test]
    fn the_source_is_that_of_media_only() {
        let packet = |second: u8| [&[0x80, second, 0, 1, 0, 0, 0, 2][..], &7_u32.to_be_bytes(), b"audio"].concat();
        assert_eq!((rtp_source(&packet(111)), rtp_source(&packet(111 | 0x80))), (Some(7), Some(7)));
        assert_eq!(
            (rtp_source(&packet(200)), rtp_source(&record(22, b"hello")), rtp_source(&[0x80])),
            (None, None, None)
        );
    }

    #[test]
    fn application_data_is_found_behind_other_records_too() {
        let (handshake, data) = (record(22, b"hello"), record(APPLICATION_DATA, b"SCTP"));
        assert!(has_application_data(&data) && has_application_data(&[handshake.clone(), data].concat()));
        assert!(!has_application_data(&handshake) && !has_application_data(b"") && !has_application_data(&[23; 5]));
        assert!(!has_application_data(&record(22, &[APPLICATION_DATA; 40])), "the content of a handshake");
    }
}
