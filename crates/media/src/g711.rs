//! G.711 (ITU-T G.711, 1988): 8 bits per sample, in µ-law or A-law.

use std::sync::LazyLock;

use crate::format::AudioFormat;
use crate::frame::Frame;

/// Samples per second.
pub const SAMPLE_RATE: u32 = AudioFormat::Narrowband.sample_rate();
/// Bytes in 20 ms, one per sample.
pub const FRAME_BYTES: usize = AudioFormat::Narrowband.frame_samples();

/// The companding law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Law {
    /// µ-law: North America and Japan; RTP payload type 0.
    Mu,
    /// A-law: everywhere else; RTP payload type 8.
    A,
}

/// The bytes are not 20 ms of audio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a frame of G.711 has {FRAME_BYTES} bytes, not {0}")]
pub struct WrongLength(pub usize);

struct Tables {
    decode: [i16; 256],
    encode: Box<[u8; 65_536]>,
}

static MU: LazyLock<Tables> = LazyLock::new(|| Tables::new(ulaw_expand, ulaw_compress));
static A: LazyLock<Tables> = LazyLock::new(|| Tables::new(alaw_expand, alaw_compress));

impl Tables {
    fn new(expand: fn(u8) -> i16, compress: fn(i16) -> u8) -> Self {
        let mut decode = [0; 256];
        for byte in 0..=u8::MAX {
            decode[usize::from(byte)] = expand(byte);
        }
        let mut encode = Box::new([0; 65_536]);
        for sample in i16::MIN..=i16::MAX {
            encode[usize::from(sample.cast_unsigned())] = compress(sample);
        }
        Self { decode, encode }
    }
}

impl Law {
    fn tables(self) -> &'static Tables {
        match self {
            Self::Mu => &MU,
            Self::A => &A,
        }
    }

    /// Encodes one sample in 8 bits.
    #[must_use]
    pub fn encode(self, sample: i16) -> u8 {
        self.tables().encode[usize::from(sample.cast_unsigned())]
    }

    /// Decodes one sample from 8 bits.
    #[must_use]
    pub fn decode(self, byte: u8) -> i16 {
        self.tables().decode[usize::from(byte)]
    }

    /// Decodes a narrowband frame from 160 bytes.
    ///
    /// # Errors
    /// Fails on any other length.
    pub fn decode_frame(self, bytes: &[u8]) -> Result<Frame, WrongLength> {
        if bytes.len() != FRAME_BYTES {
            return Err(WrongLength(bytes.len()));
        }
        let decode = &self.tables().decode;
        Ok(Frame::from_samples(AudioFormat::Narrowband, bytes.iter().map(|byte| decode[usize::from(*byte)])))
    }
}

#[cfg(test)]
impl Law {
    /// Encodes and decodes a frame, as on a telephone line.
    pub(crate) fn over_the_phone(self, frame: &Frame) -> Frame {
        let bytes: Vec<u8> = frame.samples().iter().map(|sample| self.encode(*sample)).collect();
        self.decode_frame(&bytes).expect("a narrowband frame")
    }
}

/// Encodes one sample in µ-law.
#[must_use]
pub fn ulaw_encode(sample: i16) -> u8 {
    Law::Mu.encode(sample)
}

/// Decodes one sample from µ-law.
#[must_use]
pub fn ulaw_decode(byte: u8) -> i16 {
    Law::Mu.decode(byte)
}

/// Encodes one sample in A-law.
#[must_use]
pub fn alaw_encode(sample: i16) -> u8 {
    Law::A.encode(sample)
}

/// Decodes one sample from A-law.
#[must_use]
pub fn alaw_decode(byte: u8) -> i16 {
    Law::A.decode(byte)
}

/// The standard uses 14 bits for µ-law; the two lowest of 16 are ignored.
const MU_BIAS: i32 = 33;
const MU_CLIP: i32 = 8_158;

fn ulaw_compress(sample: i16) -> u8 {
    let value = i32::from(sample) >> 2;
    // The arithmetic shift rounds towards minus infinity, so the magnitude of a negative value is its complement.
    let (sign, magnitude) = if value < 0 { (0x80, !value) } else { (0, value) };
    let biased = magnitude.min(MU_CLIP) + MU_BIAS;
    let segment = biased.ilog2() - 5;
    let step = (biased >> (segment + 1)) & 0x0f;
    let code = (u8::try_from(segment).unwrap_or(7) << 4) | u8::try_from(step).unwrap_or(0x0f);
    !(sign | code)
}

fn ulaw_expand(byte: u8) -> i16 {
    let code = !byte;
    let (segment, step) = (u32::from(code >> 4) & 7, i32::from(code & 0x0f));
    let magnitude = (((2 * step + MU_BIAS) << segment) - MU_BIAS) << 2;
    let value = if code & 0x80 != 0 { -magnitude } else { magnitude };
    i16::try_from(value).unwrap_or(if value < 0 { i16::MIN } else { i16::MAX })
}

fn alaw_compress(sample: i16) -> u8 {
    let value = i32::from(sample) >> 3;
    let (sign, magnitude) = if value < 0 { (0, !value) } else { (0x80, value) };
    let segment = if magnitude < 32 { 0 } else { magnitude.ilog2() - 4 };
    let step = (magnitude >> segment.max(1)) & 0x0f;
    let code = (u8::try_from(segment).unwrap_or(7) << 4) | u8::try_from(step).unwrap_or(0x0f);
    (sign | code) ^ 0x55
}

fn alaw_expand(byte: u8) -> i16 {
    let code = byte ^ 0x55;
    let (segment, step) = (u32::from(code >> 4) & 7, i32::from(code & 0x0f));
    let magnitude = match segment {
        0 => (step << 4) + 8,
        segment => ((step << 4) + 0x108) << (segment - 1),
    };
    let value = if code & 0x80 != 0 { magnitude } else { -magnitude };
    i16::try_from(value).unwrap_or(i16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns one half of a law as printed in the standard's tables: for each code without its sign, the decision value at which its interval begins
    /// and the value it is decoded to, in 16 bits.
    fn table_of_the_standard(law: Law) -> Vec<(i32, i32)> {
        // The tables count to 8159 in µ-law and to 4096 in A-law.
        let unit = if law == Law::Mu { 4 } else { 8 };
        let (mut table, mut begin) = (Vec::new(), 0);
        for code in 0..128 {
            let segment = code / 16;
            let (width, twice_the_value) = match law {
                // The first interval extends to both sides of zero, which it is decoded to.
                Law::Mu if code == 0 => (1, 0),
                Law::Mu => (2 << segment, 2 * begin + (2 << segment)),
                Law::A if segment == 0 => (2, 2 * begin + 2),
                Law::A => (1 << segment, 2 * begin + (1 << segment)),
            };
            table.push((begin * unit, twice_the_value * unit / 2));
            begin += width;
        }
        table
    }

    #[test]
    fn every_sample_is_coded_as_the_tables_of_the_standard_say() {
        for law in [Law::Mu, Law::A] {
            let table = table_of_the_standard(law);
            let inverted = if law == Law::Mu { 0xff } else { 0xd5 };
            for sample in i16::MIN..=i16::MAX {
                // A negative sample on a decision value belongs to the interval nearer to zero: compare its one's complement, as the ITU's own tools
                // do (G.191).
                let magnitude = i32::from(if sample < 0 { !sample } else { sample });
                let code = table.iter().rposition(|(begin, _)| *begin <= magnitude).expect("the first begins at zero");
                let sign = if sample < 0 { 0x80 } else { 0 };
                let expected = (sign | u8::try_from(code).expect("128 codes")) ^ inverted;
                assert_eq!(law.encode(sample), expected, "{law:?} {sample}");
                let value = table[code].1;
                let decoded = i32::from(law.decode(expected));
                assert_eq!(decoded, if sample < 0 { -value } else { value }, "{law:?} {sample} {expected:#04x}");
            }
        }
    }

    #[test]
    fn known_codes_of_the_standard() {
        for (sample, code) in [(0, 0xff), (-1, 0x7f), (32_635, 0x80), (i16::MAX, 0x80), (i16::MIN, 0x00), (4, 0xfe)] {
            assert_eq!(ulaw_encode(sample), code, "µ-law {sample}");
        }
        assert_eq!((ulaw_decode(0x80), ulaw_decode(0x00), ulaw_decode(0xff)), (32_124, -32_124, 0));
        for (sample, code) in [(0, 0xd5), (-1, 0x55), (i16::MAX, 0xaa), (i16::MIN, 0x2a)] {
            assert_eq!(alaw_encode(sample), code, "A-law {sample}");
        }
        assert_eq!((alaw_decode(0xaa), alaw_decode(0x2a), alaw_decode(0xd5)), (32_256, -32_256, 8));
    }

    #[test]
    fn decoding_then_encoding_gives_the_same_byte() {
        for byte in 0..=u8::MAX {
            assert_eq!(alaw_encode(alaw_decode(byte)), byte);
            // µ-law has two zeros; the positive one is sent.
            let expected = if byte == 0x7f { 0xff } else { byte };
            assert_eq!(ulaw_encode(ulaw_decode(byte)), expected);
        }
    }

    #[test]
    fn a_frame_has_160_bytes() {
        assert_eq!(Law::Mu.decode_frame(&[0; 159]), Err(WrongLength(159)));
        let back = Law::A.decode_frame(&[Law::A.encode(1_000); FRAME_BYTES]).expect("160 bytes");
        assert!(back.samples().iter().all(|sample| (sample - 1_000).abs() < 32));
    }
}
