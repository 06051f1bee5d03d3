//! WAV files: PCM, 16 bit (RIFF WAVE, Microsoft 1991).

use std::io::{self, Seek, SeekFrom, Write};

use crate::format::AudioFormat;
use crate::frame::Frame;

const HEADER: usize = 44;
/// The positions in the header of the length of the rest of the file, and of the audio's length.
const RIFF_LENGTH_AT: u64 = 4;
const DATA_LENGTH_AT: u64 = 40;

/// Writes a recording: 16 bit, stereo, in the format of its call; the caller left, the agent right.
#[derive(Debug)]
pub struct StereoWriter<W: Write + Seek> {
    file: W,
    data: u32,
    /// Reused for each frame.
    bytes: Vec<u8>,
}

impl<W: Write + Seek> StereoWriter<W> {
    /// Starts a recording. The header is valid from the start; [`StereoWriter::finish`] writes the length into it. See [`repair`] for a file whose
    /// writer died.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn new(mut file: W, format: AudioFormat) -> io::Result<Self> {
        file.write_all(&header(2, format.sample_rate(), 0))?;
        Ok(Self { file, data: 0, bytes: Vec::new() })
    }

    /// Writes 20 ms of both sides. After an error the same frames can be pushed again, if the file takes what it is given as a whole or not at all,
    /// as a buffer does.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn push(&mut self, caller: &Frame, agent: &Frame) -> io::Result<()> {
        self.bytes.clear();
        for (left, right) in caller.samples().iter().zip(agent.samples()) {
            self.bytes.extend_from_slice(&left.to_le_bytes());
            self.bytes.extend_from_slice(&right.to_le_bytes());
        }
        self.file.write_all(&self.bytes)?;
        self.data = self.data.saturating_add(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
        Ok(())
    }

    /// Completes the header and returns the file. Nothing may be pushed after it; after an error it can be called again.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn finish(&mut self) -> io::Result<&W> {
        write_length(&mut self.file, self.data)?;
        self.file.flush()?;
        Ok(&self.file)
    }
}

/// Returns a whole mono file.
#[must_use]
pub fn mono(samples: &[i16], sample_rate: u32) -> Vec<u8> {
    let mut file = header(1, sample_rate, u32::try_from(samples.len() * 2).unwrap_or(u32::MAX)).to_vec();
    file.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
    file
}

fn header(channels: u16, sample_rate: u32, data: u32) -> [u8; HEADER] {
    let block = channels * 2;
    let mut header = [0; HEADER];
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        header[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    put(b"RIFF");
    put(&riff_length(data).to_le_bytes());
    put(b"WAVEfmt ");
    put(&16_u32.to_le_bytes());
    put(&1_u16.to_le_bytes());
    put(&channels.to_le_bytes());
    put(&sample_rate.to_le_bytes());
    put(&(sample_rate * u32::from(block)).to_le_bytes());
    put(&block.to_le_bytes());
    put(&16_u16.to_le_bytes());
    put(b"data");
    put(&data.to_le_bytes());
    header
}

/// Completes the header of a file that [`StereoWriter`] did not finish.
///
/// # Errors
/// Fails if the file cannot be read or written, or does not have a whole header, and so no audio.
pub fn repair(file: &mut (impl Write + Seek)) -> io::Result<()> {
    let length = file.seek(SeekFrom::End(0))?;
    let audio = length.checked_sub(HEADER as u64).ok_or(io::ErrorKind::UnexpectedEof)?;
    let data = audio / 4 * 4;
    write_length(file, u32::try_from(data).unwrap_or(u32::MAX))?;
    file.seek(SeekFrom::End(0)).map(drop)
}

/// Completes the header of a file with `data` bytes of audio.
fn write_length(file: &mut (impl Write + Seek), data: u32) -> io::Result<()> {
    file.seek(SeekFrom::Start(RIFF_LENGTH_AT))?;
    file.write_all(&riff_length(data).to_le_bytes())?;
    file.seek(SeekFrom::Start(DATA_LENGTH_AT))?;
    file.write_all(&data.to_le_bytes())
}

fn riff_length(data: u32) -> u32 {
    data.saturating_add(36)
}

/// The content of a WAV file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wav {
    /// Samples per second.
    pub sample_rate: u32,
    /// The samples of each channel.
    pub channels: Vec<Vec<i16>>,
}

/// The bytes are not a WAV file that this module reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// No RIFF WAVE header.
    #[error("this is not a WAV file")]
    NotWav,
    /// Something other than 16-bit PCM.
    #[error("only 16-bit PCM is understood")]
    NotPcm,
    /// A chunk is missing or cut off.
    #[error("the WAV file is incomplete")]
    Incomplete,
}

/// Reads a file of 16-bit PCM.
///
/// # Errors
/// Fails if it is not such a file.
pub fn read(bytes: &[u8]) -> Result<Wav, ReadError> {
    if bytes.get(..4) != Some(b"RIFF") || bytes.get(8..12) != Some(b"WAVE") {
        return Err(ReadError::NotWav);
    }
    let (mut rest, mut format) = (&bytes[12..], None);
    loop {
        let (name, after) = rest.split_first_chunk::<4>().ok_or(ReadError::Incomplete)?;
        let (length, after) = after.split_first_chunk::<4>().ok_or(ReadError::Incomplete)?;
        let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| ReadError::Incomplete)?;
        let body = after.get(..length).ok_or(ReadError::Incomplete)?;
        match name {
            b"fmt " => format = Some(read_format(body)?),
            b"data" => {
                let (channels, sample_rate) = format.ok_or(ReadError::Incomplete)?;
                return Ok(Wav { sample_rate, channels: split(body, channels) });
            }
            _ => {}
        }
        rest = after.get(length + length % 2..).unwrap_or_default();
    }
}

fn read_format(body: &[u8]) -> Result<(usize, u32), ReadError> {
    let word = |at: usize| body.get(at..at + 2).map(|b| u16::from_le_bytes([b[0], b[1]])).ok_or(ReadError::Incomplete);
    let (kind, channels, bits) = (word(0)?, word(2)?, word(14)?);
    let sample_rate = u32::from(word(4)?) | (u32::from(word(6)?) << 16);
    if kind != 1 || bits != 16 || channels == 0 {
        return Err(ReadError::NotPcm);
    }
    Ok((usize::from(channels), sample_rate))
}

fn split(data: &[u8], channels: usize) -> Vec<Vec<i16>> {
    let samples: Vec<i16> = data.chunks_exact(2).map(|pair| i16::from_le_bytes([pair[0], pair[1]])).collect();
    (0..channels).map(|channel| samples.iter().skip(channel).step_by(channels).copied().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Framer;
    use crate::tone::{goertzel, sine};
    use proptest::prelude::*;
    use std::io::Cursor;

    fn recording(format: AudioFormat, caller_hz: f64, agent_hz: f64) -> StereoWriter<Cursor<Vec<u8>>> {
        let rate = format.sample_rate();
        let frames = |hz| Framer::new(format).push(&sine(hz, rate, 0.4, rate as usize));
        let mut writer = StereoWriter::new(Cursor::new(Vec::new()), format).expect("memory");
        for (caller, agent) in frames(caller_hz).iter().zip(&frames(agent_hz)) {
            writer.push(caller, agent).expect("memory");
        }
        writer
    }

    #[test]
    fn each_side_is_heard_on_its_own_channel() {
        for format in AudioFormat::ALL {
            let file = recording(format, 400.0, 900.0).finish().expect("memory").get_ref().clone();
            let (wav, rate) = (read(&file).expect("our own file"), format.sample_rate());
            assert_eq!((wav.sample_rate, wav.channels.len(), wav.channels[0].len()), (rate, 2, rate as usize));
            let heard = |channel: usize, hz| goertzel(&wav.channels[channel], rate, hz);
            assert!(heard(0, 400.0) > 0.99 && heard(1, 900.0) > 0.99, "caller left, agent right");
            assert!(heard(0, 900.0) < 0.01 && heard(1, 400.0) < 0.01, "and nothing of the other");
        }
    }

    #[test]
    fn a_recording_whose_writer_died_is_repaired() {
        let mut file = recording(AudioFormat::Wideband, 400.0, 900.0).file;
        assert_eq!(read(file.get_ref()).expect("a valid header").channels[0].len(), 0);
        repair(&mut file).expect("memory");
        let repaired = read(file.get_ref()).expect("repaired");
        assert_eq!((repaired.sample_rate, repaired.channels[0].len()), (16_000, 16_000));
    }

    #[test]
    fn a_file_without_a_whole_header_is_left_alone() {
        for length in [0, HEADER - 1] {
            let mut file = Cursor::new(vec![0; length]);
            repair(&mut file).expect_err("there is no audio in it");
            assert_eq!(file.into_inner().len(), length);
        }
    }

    /// A file on a disk with this much room.
    #[derive(Debug)]
    struct OnDisk {
        file: Cursor<Vec<u8>>,
        room: u64,
    }

    impl Write for OnDisk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let left = self.room.saturating_sub(self.file.position());
            match bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX)) {
                0 if !bytes.is_empty() => Err(io::ErrorKind::StorageFull.into()),
                fitting => self.file.write(&bytes[..fitting]),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for OnDisk {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.file.seek(to)
        }
    }

    #[test]
    fn a_recording_continues_where_the_disk_was_full() {
        let (format, frames) = (AudioFormat::Narrowband, 100_i16);
        let disk = OnDisk { file: Cursor::new(Vec::new()), room: 20_001 };
        let mut writer = StereoWriter::new(io::BufWriter::new(disk), format).expect("buffered");
        let mut refused = 0;
        for number in 0..frames {
            let frame = Frame::from_slice(format, &[number; 160]);
            while writer.push(&frame, &frame).is_err() {
                refused += 1;
                writer.file.get_mut().room += 1_000;
            }
        }
        while writer.finish().is_err() {
            refused += 1;
            writer.file.get_mut().room += 1_000;
        }
        assert_ne!(refused, 0);
        let wav = read(writer.file.get_ref().file.get_ref()).expect("our own file");
        let expected: Vec<i16> = (0..frames).flat_map(|number| [number; 160]).collect();
        assert_eq!(wav.channels, [expected.clone(), expected]);
    }

    proptest! {
        #[test]
        fn reading_anything_never_panics(mut bytes in prop::collection::vec(any::<u8>(), 0..200), real in any::<bool>()) {
            if real {
                bytes = [&mono(&[1, 2, 3], 8_000)[..], &bytes].concat();
                let cut = bytes.len() / 2;
                let _ = read(&bytes[..cut]);
            }
            let _ = read(&bytes);
        }
    }
}
