//! Decodes a stream of 16-bit PCM, or one or several WAV files in sequence, in pieces of any length to samples in a call's format.

use switchhook_media::format::AudioFormat;
use switchhook_media::resample::{Resampler, UnsupportedRates};

/// First bytes of compressed files. Speech does not begin with such samples: it would have to start loud.
const COMPRESSED: [&[u8]; 6] = [b"ID3", b"OggS", b"fLaC", &[0xff, 0xfb], &[0xff, 0xf3], &[0xff, 0xf2]];
/// Bytes needed to detect the type of the audio.
const MAGIC: usize = 4;
/// First bytes of a WAV file.
const RIFF: &[u8; 4] = b"RIFF";
/// The length of a chunk's name and length.
const CHUNK_HEADER: usize = 8;
/// Bytes that are added to a header at once: the time for many small files in one piece is proportional to its length.
const HEADER_PIECE: usize = 64;
/// The longest WAV header accepted.
const LONGEST_HEADER: usize = 64 * 1024;
/// A length that means that it was unknown when the header was written.
const UNKNOWN_LENGTH: u32 = 0xffff_0000;

/// Decodes one utterance.
pub(crate) struct Decoder {
    state: DecoderState,
    format: AudioFormat,
    /// The sample rate that the resampler takes, in Hz.
    rate: u32,
    resampler: Resampler,
}

enum DecoderState {
    /// The first bytes, of an unknown type.
    Beginning(Vec<u8>),
    /// `RIFF` was found; the header so far.
    Header(Vec<u8>),
    Audio(Pcm),
    /// The audio of a file is complete. Some servers send a file for each sentence.
    Trailer(Trailer),
}

struct Pcm {
    channels: usize,
    /// Bytes of an incomplete sample across all channels.
    rest: Vec<u8>,
    /// Bytes of audio still to come; anything after them in a file is not audio.
    left: usize,
}

/// The rest of a file after its audio.
#[derive(Default)]
struct Trailer {
    /// The name and the length of the next chunk so far.
    head: Vec<u8>,
    /// Bytes of the current chunk still to come.
    left: usize,
}

/// A sentence that says why the audio cannot be read.
type Unreadable = String;

impl Decoder {
    /// Creates a decoder for audio with `rate` samples per second, unless a header says otherwise.
    pub(crate) fn new(rate: u32, format: AudioFormat) -> Result<Self, UnsupportedRates> {
        let resampler = Resampler::new(rate, format.sample_rate())?;
        Ok(Self { state: DecoderState::Beginning(Vec::new()), format, rate, resampler })
    }

    /// Takes more bytes and returns the samples that are complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Vec<i16>, Unreadable> {
        let mut out = Vec::new();
        self.read(bytes, &mut out)?;
        Ok(out)
    }

    fn read(&mut self, mut bytes: &[u8], out: &mut Vec<i16>) -> Result<(), Unreadable> {
        while !bytes.is_empty() {
            let taken = self.take(bytes, out)?;
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    /// Takes the next bytes, as far as they belong to the current state, and returns how many: at least one.
    fn take(&mut self, bytes: &[u8], out: &mut Vec<i16>) -> Result<usize, Unreadable> {
        match &mut self.state {
            DecoderState::Beginning(kept) => {
                let taken = fill(kept, bytes, MAGIC);
                if kept.len() == MAGIC {
                    let kept = std::mem::take(kept);
                    self.begin(kept, out)?;
                }
                Ok(taken)
            }
            DecoderState::Header(kept) => {
                let taken = bytes.len().min(HEADER_PIECE);
                kept.extend_from_slice(&bytes[..taken]);
                if let Some(header) = Header::read(kept)? {
                    let audio = kept.split_off(header.length);
                    self.begin_audio(&header)?;
                    self.read(&audio, out)?;
                }
                Ok(taken)
            }
            DecoderState::Audio(pcm) => {
                let left = pcm.left;
                let samples = pcm.push(bytes);
                let taken = left - pcm.left;
                let is_complete = pcm.left == 0;
                self.resampler.process(&samples, out);
                if is_complete {
                    self.resampler.flush(out);
                    self.state = DecoderState::Trailer(Trailer::default());
                }
                Ok(taken)
            }
            DecoderState::Trailer(trailer) => {
                let (taken, file) = trailer.take(bytes);
                if let Some(begun) = file {
                    self.state = DecoderState::Header(begun);
                }
                Ok(taken)
            }
        }
    }

    /// Detects the type of the audio by its first bytes.
    fn begin(&mut self, first: Vec<u8>, out: &mut Vec<i16>) -> Result<(), Unreadable> {
        if COMPRESSED.iter().any(|magic| first.starts_with(magic)) {
            return Err("it sent compressed audio; set settings.tts_format to pcm or wav, or use a server that \
                        offers one of them"
                .to_owned());
        }
        if first.starts_with(RIFF) {
            self.state = DecoderState::Header(first);
            return Ok(());
        }
        self.state = DecoderState::Audio(Pcm::new(1, usize::MAX));
        self.read(&first, out)
    }

    /// Prepares for the audio of a file. The resampler has nothing left of the file before.
    fn begin_audio(&mut self, header: &Header) -> Result<(), Unreadable> {
        if header.rate != self.rate {
            self.resampler =
                Resampler::new(header.rate, self.format.sample_rate()).map_err(|error| error.to_string())?;
            self.rate = header.rate;
        }
        self.state = DecoderState::Audio(Pcm::new(header.channels, header.audio));
        Ok(())
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
}

/// Adds bytes up to this length and returns how many.
fn fill(kept: &mut Vec<u8>, bytes: &[u8], length: usize) -> usize {
    let taken = bytes.len().min(length.saturating_sub(kept.len()));
    kept.extend_from_slice(&bytes[..taken]);
    taken
}

impl Trailer {
    /// Takes the next bytes, as far as they belong to one chunk, and returns how many, and the first bytes of another file if one begins.
    fn take(&mut self, bytes: &[u8]) -> (usize, Option<Vec<u8>>) {
        if self.left > 0 {
            let taken = bytes.len().min(self.left);
            self.left -= taken;
            return (taken, None);
        }
        // Chunks are padded to an even length.
        if self.head.is_empty() && bytes.first() == Some(&0) {
            return (1, None);
        }
        let taken = fill(&mut self.head, bytes, CHUNK_HEADER);
        let Ok([name @ .., a, b, c, d]) = <[u8; CHUNK_HEADER]>::try_from(self.head.as_slice()) else {
            return (taken, None);
        };
        let head = std::mem::take(&mut self.head);
        if name == *RIFF {
            return (taken, Some(head));
        }
        self.left = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX);
        (taken, None)
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
        let files = [wav(24_000), wav(8_000)].concat();
        vec![vec![wav(24_000)], vec![wav(8_000), vec![1; 999]], vec![vec![1, 2, 3], vec![4; 500]], vec![files]]
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
    fn of_several_files_in_one_response_all_are_heard_whatever_is_between_them() {
        let (first, second) = (sine(440.0, 22_050, 0.5, 11_025), sine(440.0, 24_000, 0.5, 12_000));
        let stereo: Vec<i16> = second.iter().flat_map(|sample| [*sample, 0]).collect();
        let (first, second) = (wav(1, 22_050, 22_050, &bytes(&first)), wav(2, 24_000, 48_000, &bytes(&stereo)));
        for between in [&b""[..], b"\0", b"LIST\x03\0\0\0abc\0", b"LIST\x04\0\0\0abcdC2PA\0\0\0\0"] {
            let files = [first.as_slice(), between, second.as_slice(), between, first.as_slice()].concat();
            for piece in [1, 999, files.len()] {
                let heard = decode(8_000, &files, piece).expect("WAV");
                assert_eq!(heard.len(), 3 * 4_000, "{between:?} in pieces of {piece}");
                for file in heard.chunks(4_000) {
                    let level = rms_dbfs(file) - rms_dbfs(&sine(440.0, 8_000, 0.5, 4_000));
                    assert!(level.abs() < 1.0, "{between:?} in pieces of {piece}: {level} dB");
                }
            }
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
