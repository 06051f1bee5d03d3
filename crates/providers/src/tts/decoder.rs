//! Decodes a file or stream of 16-bit PCM, with or without a WAV header, in chunks of any length to samples in a call's format.

use switchhook_media::format::AudioFormat;
use switchhook_media::resample::{Resampler, UnsupportedRates};

/// First bytes of compressed files. Speech does not begin with such samples: it would have to start loud.
const COMPRESSED: [&[u8]; 6] = [b"ID3", b"OggS", b"fLaC", &[0xff, 0xfb], &[0xff, 0xf3], &[0xff, 0xf2]];
/// Bytes needed to detect the type of the audio.
const MAGIC: usize = 4;
/// The longest WAV header accepted.
const LONGEST_HEADER: usize = 64 * 1024;
/// A length that means that it was unknown when the header was written.
const UNKNOWN_LENGTH: u32 = 0xffff_0000;

/// Decodes one utterance.
pub(crate) struct Decoder {
    state: DecoderState,
    format: AudioFormat,
    resampler: Resampler,
}

enum DecoderState {
    /// The first bytes, of an unknown type.
    Beginning(Vec<u8>),
    /// `RIFF` was found; the header so far.
    Header(Vec<u8>),
    Audio(Pcm),
}

struct Pcm {
    channels: usize,
    /// Bytes of an incomplete sample across all channels.
    rest: Vec<u8>,
    /// Bytes of audio still to come; anything after them in a file is not audio.
    left: usize,
}

/// A sentence that says why the audio cannot be read.
type Unreadable = String;

impl Decoder {
    /// Creates a decoder for audio with `rate` samples per second, unless a header says otherwise.
    pub(crate) fn new(rate: u32, format: AudioFormat) -> Result<Self, UnsupportedRates> {
        let resampler = Resampler::new(rate, format.sample_rate())?;
        Ok(Self { state: DecoderState::Beginning(Vec::new()), format, resampler })
    }

    /// Takes more bytes and returns the samples that are complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<i16>, Unreadable> {
        match &mut self.state {
            DecoderState::Audio(pcm) => {
                let samples = pcm.push(bytes);
                Ok(self.resampled(&samples))
            }
            DecoderState::Beginning(kept) => {
                kept.extend_from_slice(bytes);
                if kept.len() < MAGIC {
                    return Ok(Vec::new());
                }
                let kept = std::mem::take(kept);
                if COMPRESSED.iter().any(|magic| kept.starts_with(magic)) {
                    return Err("it sent compressed audio; set settings.tts_format to pcm or wav, or use a server \
                                that offers one of them"
                        .to_owned());
                }
                let is_wav = kept.starts_with(b"RIFF");
                self.state = if is_wav {
                    DecoderState::Header(Vec::new())
                } else {
                    DecoderState::Audio(Pcm::new(1, usize::MAX))
                };
                self.push(&kept)
            }
            DecoderState::Header(kept) => {
                kept.extend_from_slice(bytes);
                let Some(header) = Header::read(kept)? else { return Ok(Vec::new()) };
                let audio = kept.split_off(header.length);
                self.resampler =
                    Resampler::new(header.rate, self.format.sample_rate()).map_err(|error| error.to_string())?;
                self.state = DecoderState::Audio(Pcm::new(header.channels, header.audio));
                self.push(&audio)
            }
        }
    }

    /// Returns the remaining samples.
    pub(crate) fn finish(mut self) -> Vec<i16> {
        let mut out = Vec::new();
        if let DecoderState::Beginning(kept) = &self.state {
            let samples = Pcm::new(1, usize::MAX).push(kept);
            self.resampler.process(&samples, &mut out);
        }
        self.resampler.flush(&mut out);
        out
    }

    fn resampled(&mut self, samples: &[i16]) -> Vec<i16> {
        let mut out = Vec::new();
        self.resampler.process(samples, &mut out);
        out
    }
}

impl Pcm {
    fn new(channels: usize, left: usize) -> Self {
        Self { channels, rest: Vec::new(), left }
    }

    /// Returns the samples of the first channel.
    fn push(&mut self, bytes: &[u8]) -> Vec<i16> {
        let taken = bytes.len().min(self.left);
        self.left -= taken;
        self.rest.extend_from_slice(&bytes[..taken]);
        let block = 2 * self.channels;
        let whole = self.rest.len() / block * block;
        let blocks = self.rest[..whole].chunks_exact(block);
        let samples = blocks.map(|block| i16::from_le_bytes([block[0], block[1]])).collect();
        self.rest.drain(..whole);
        samples
    }
}

/// The header of a WAV file (RIFF WAVE, Microsoft 1991).
struct Header {
    /// The length of the header itself, in bytes.
    length: usize,
    rate: u32,
    channels: usize,
    /// Bytes of audio after it.
    audio: usize,
}

impl Header {
    /// Parses a header; returns `None` while it is incomplete.
    fn read(bytes: &[u8]) -> Result<Option<Self>, Unreadable> {
        let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let half = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        let mut format = None;
        let mut at = 12;
        loop {
            if at > LONGEST_HEADER {
                return Err("it sent a WAV header without end".to_owned());
            }
            let (Some(name), Some(length)) = (bytes.get(at..at + 4), number(at + 4)) else { return Ok(None) };
            let body = at + 8;
            if name == b"data" {
                let (rate, channels) = format.ok_or("it sent a WAV file that does not say what is in it")?;
                let known = length > 0 && length < UNKNOWN_LENGTH;
                let audio = if known { usize::try_from(length).unwrap_or(usize::MAX) } else { usize::MAX };
                return Ok(Some(Self { length: body, rate, channels, audio }));
            }
            if name == b"fmt " {
                let fields = (half(body), half(body + 2), number(body + 4), half(body + 14));
                let (Some(kind), Some(channels), Some(rate), Some(bits)) = fields else { return Ok(None) };
                // 0xfffe (extensible): the kind comes later in the header; with 16 bits it is PCM in practice.
                if !matches!(kind, 1 | 0xfffe) || bits != 16 || !matches!(channels, 1 | 2) {
                    return Err("it sent a WAV file that is not PCM of 16 bit".to_owned());
                }
                format = Some((rate, usize::from(channels)));
            }
            // Chunks are padded to an even length.
            at = body.saturating_add(usize::try_from(length).unwrap_or(usize::MAX)).saturating_add(length as usize % 2);
        }
    }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        let wav = |rate| switchhook_media::wav::mono(&[7; 200], rate);
        vec![vec![wav(24_000)], vec![wav(8_000), vec![1; 999]], vec![vec![1, 2, 3], vec![4; 500]]]
    },
    read: |messages| {
        let Ok(mut decoder) = Decoder::new(24_000, AudioFormat::Narrowband) else {
            return switchhook_fuzz::Read::default();
        };
        let mut read =
            switchhook_fuzz::Read::each(messages, |bytes| decoder.push(bytes).map(|samples| 2 * samples.len()));
        read.given += 2 * decoder.finish().len();
        read
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use switchhook_media::level::rms_dbfs;
    use switchhook_media::tone::sine;

    fn bytes(samples: &[i16]) -> Vec<u8> {
        samples.iter().flat_map(|sample| sample.to_le_bytes()).collect()
    }

    fn wav(channels: u16, rate: u32, length: u32, audio: &[u8]) -> Vec<u8> {
        let mut file = b"RIFF\xff\xff\xff\xffWAVELIST\x03\0\0\0abc\0fmt \x10\0\0\0\x01\0".to_vec();
        file.extend(channels.to_le_bytes());
        file.extend(rate.to_le_bytes());
        file.extend((rate * 2 * u32::from(channels)).to_le_bytes());
        file.extend((2 * channels).to_le_bytes());
        file.extend(16_u16.to_le_bytes());
        file.extend(b"data");
        file.extend(length.to_le_bytes());
        file.extend(audio);
        file
    }

    fn decode(declared: u32, bytes: &[u8], piece: usize) -> Result<Vec<i16>, String> {
        let mut decoder = Decoder::new(declared, AudioFormat::Narrowband).expect("a default rate");
        let mut out = Vec::new();
        for piece in bytes.chunks(piece) {
            out.extend(decoder.push(piece)?);
        }
        out.extend(decoder.finish());
        Ok(out)
    }

    #[test]
    fn samples_cut_in_two_are_put_together_and_the_rate_is_that_of_the_telephone() {
        let tone = sine(440.0, 24_000, 0.5, 24_000);
        for piece in [1, 7, 4_096] {
            let heard = decode(24_000, &bytes(&tone), piece).expect("PCM");
            assert_eq!(heard.len(), 8_000);
            let difference: Vec<i16> = heard.iter().zip(sine(440.0, 8_000, 0.5, 8_000)).map(|(a, b)| a - b).collect();
            assert!(rms_dbfs(&difference[200..7_800]) < -40.0, "the same tone, in pieces of {piece}");
        }
        assert_eq!(decode(8_000, &[1, 0, 2], 1).expect("PCM"), [1], "less than a header");
    }

    #[test]
    fn a_header_is_believed_more_than_the_setting_and_what_follows_the_audio_is_not_played() {
        let tone = sine(440.0, 22_050, 0.5, 22_050);
        let stereo: Vec<i16> = tone.iter().flat_map(|sample| [*sample, 0]).collect();
        let mut sized = wav(1, 22_050, 44_100, &bytes(&tone));
        sized.extend(b"LIST\xff\0\0\0 made by");
        for (file, piece) in
            [(wav(1, 22_050, u32::MAX, &bytes(&tone)), 1), (wav(2, 22_050, 0, &bytes(&stereo)), 999), (sized, 100_000)]
        {
            let heard = decode(24_000, &file, piece).expect("WAV");
            assert_eq!(heard.len(), 8_000);
            assert!((rms_dbfs(&heard) - rms_dbfs(&tone)).abs() < 0.5);
        }
    }

    #[test]
    fn what_is_no_pcm_is_refused_with_advice() {
        let refused = |bytes: &[u8]| decode(24_000, bytes, 3).expect_err("not PCM");
        assert!(refused(b"ID3\x04 and so on").contains("tts_format"));
        let mut law = wav(1, 8_000, 0, &[]);
        law[32] = 7;
        assert!(refused(&law).contains("not PCM"), "{}", refused(&law));
    }
}
