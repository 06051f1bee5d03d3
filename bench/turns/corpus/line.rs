//! The telephone line: its band, its level, the noise of the room, µ-law.

use std::f32::consts::PI;

use switchhook_media::g711::{FRAME_BYTES, SAMPLE_RATE, ulaw_encode};

/// Audio at 8 kHz, from -1 to 1, that begins and ends with audible sound.
pub(super) type Part = Vec<f32>;

/// The band that a telephone line passes, in Hz.
const BAND: (f32, f32) = (300.0, 3400.0);
/// Room noise, in dB below full scale.
const ROOM_DBFS: f32 = -50.0;
/// Speech is this loud on average while it is audible.
pub(super) const SPEECH_DBFS: std::ops::RangeInclusive<f32> = -23.0..=-17.0;
/// Sound that is so much softer than the speech around it is silence.
const AUDIBLE_DB: f32 = -28.0;
/// Silence is looked for in pieces of this length.
const POWER_WINDOW: usize = per_ms(5);
/// The shortest break at which a pause is put.
const BREAK_MS: usize = 30;
/// Parts begin and end so softly that no click is heard.
const FADE: usize = per_ms(5);
/// Room before the first sound.
const LEAD_MS: u32 = 100;

const fn per_ms(ms: usize) -> usize {
    ms * SAMPLE_RATE as usize / 1_000
}

/// The same "random" numbers for the same name every time (splitmix64).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn of(name: &str) -> Self {
        // FNV-1a.
        Self(
            name.bytes()
                .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)),
        )
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn between(&mut self, range: std::ops::RangeInclusive<f32>) -> f32 {
        let unit = (self.next() >> 40) as f32 / (1_u64 << 24) as f32;
        range.start() + unit * (range.end() - range.start())
    }

    /// About normal, with variance 1.
    pub(super) fn normal(&mut self) -> f32 {
        (0..3).map(|_| self.between(-1.0..=1.0)).sum()
    }
}

/// A windowed-sinc filter for the telephone's band.
pub(super) fn band_pass(audio: &[f32]) -> Vec<f32> {
    const HALF: i32 = 150;
    let low_pass = |cutoff: f32, n: i32| {
        let omega = 2.0 * PI * cutoff / SAMPLE_RATE as f32;
        if n == 0 { omega / PI } else { (omega * n as f32).sin() / (PI * n as f32) }
    };
    let window = |n: i32| 0.5 + 0.5 * (PI * n as f32 / (HALF + 1) as f32).cos();
    let taps: Vec<f32> = (-HALF..=HALF).map(|n| (low_pass(BAND.1, n) - low_pass(BAND.0, n)) * window(n)).collect();
    let padding = vec![0.0; HALF as usize];
    let padded = [&padding, audio, &padding].concat();
    padded.windows(taps.len()).map(|window| window.iter().zip(&taps).map(|(sample, tap)| sample * tap).sum()).collect()
}

pub(super) fn rms(audio: &[f32]) -> f32 {
    (audio.iter().map(|sample| sample * sample).sum::<f32>() / audio.len().max(1) as f32).sqrt()
}

pub(super) fn gain(db: f32) -> f32 {
    10_f32.powf(db / 20.0)
}

/// The level of the audible part: the root mean square of its louder half.
fn level(audio: &[f32]) -> f32 {
    let mut powers: Vec<f32> = audio.chunks(POWER_WINDOW).map(|piece| rms(piece).powi(2)).collect();
    powers.sort_by(f32::total_cmp);
    let louder = &powers[powers.len() / 2..];
    (louder.iter().sum::<f32>() / louder.len().max(1) as f32).sqrt().max(1e-6)
}

/// Band-limits speech, cuts the silence off its ends and brings it to a level.
pub(super) fn through_line(audio: &[f32], dbfs: f32) -> Part {
    let mut audio = trim(&band_pass(audio)).to_vec();
    let peak = audio.iter().fold(1e-6_f32, |peak, sample| peak.max(sample.abs()));
    let factor = (gain(dbfs) / level(&audio)).min(0.9 / peak);
    audio.iter_mut().for_each(|sample| *sample *= factor);
    audio
}

fn audible(audio: &[f32]) -> Vec<bool> {
    let threshold = level(audio) * gain(AUDIBLE_DB);
    audio.chunks(POWER_WINDOW).map(|piece| rms(piece) >= threshold).collect()
}

fn trim(audio: &[f32]) -> &[f32] {
    let audible = audible(audio);
    let (Some(first), Some(last)) = (audible.iter().position(|is| *is), audible.iter().rposition(|is| *is)) else {
        return &[];
    };
    &audio[first * POWER_WINDOW..((last + 1) * POWER_WINDOW).min(audio.len())]
}

/// Cuts at the longest break near `place`, a share of the length; `None` if there is no break.
pub(super) fn cut(audio: &[f32], place: f32) -> Option<[Part; 2]> {
    let audible = audible(audio);
    let mut breaks: Vec<(usize, usize)> = Vec::new();
    for (index, _) in audible.iter().enumerate().filter(|(_, is)| !**is) {
        match breaks.last_mut() {
            Some((_, end)) if *end == index => *end = index + 1,
            _ => breaks.push((index, index + 1)),
        }
    }
    let score = |(start, end): &(usize, usize)| {
        let middle = (start + end) as f32 / 2.0 / audible.len() as f32;
        (end - start) as f32 * 5.0 - 1_500.0 * (middle - place).abs()
    };
    let near = |(start, end): &(usize, usize)| {
        let middle = (start + end) as f32 / 2.0 / audible.len() as f32;
        (end - start) * 5 >= BREAK_MS && (middle - place).abs() < 0.2
    };
    let (start, end) = breaks.into_iter().filter(near).max_by(|a, b| score(a).total_cmp(&score(b)))?;
    Some([audio[..start * POWER_WINDOW].to_vec(), audio[end * POWER_WINDOW..].to_vec()])
}

/// Room noise: a little more of it at the low end, as in rooms.
pub(super) fn room(ms: u32, random: &mut Random) -> Vec<f32> {
    let mut low = 0.0;
    let noise: Vec<f32> = (0..per_ms(ms as usize))
        .map(|_| {
            let white = random.normal();
            low = 0.9 * low + 0.3 * white;
            white + low
        })
        .collect();
    let noise = band_pass(&noise);
    let factor = gain(ROOM_DBFS) / rms(&noise).max(1e-6);
    noise.into_iter().map(|sample| sample * factor).collect()
}

/// Parts with a pause between them, in the room; µ-law, and the place of each part in milliseconds.
pub(super) fn join(parts: &[Part], pause_ms: u32, random: &mut Random) -> (Vec<u8>, Vec<(u32, u32)>) {
    let mut speech = vec![0.0; per_ms(LEAD_MS as usize)];
    let mut places = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            speech.resize(speech.len() + per_ms(pause_ms as usize), 0.0);
        }
        let start = speech.len();
        speech.extend(faded(part));
        places.push((ms(start), ms(speech.len())));
    }
    speech.resize(speech.len().next_multiple_of(FRAME_BYTES), 0.0);
    let noise = room(ms(speech.len()), random);
    let audio: Vec<f32> = speech.iter().zip(noise).map(|(speech, noise)| speech + noise).collect();
    (encode(&audio), places)
}

fn ms(samples: usize) -> u32 {
    (samples / per_ms(1)) as u32
}

pub(super) fn faded(part: &[f32]) -> impl Iterator<Item = f32> {
    let length = part.len();
    part.iter().enumerate().map(move |(n, sample)| {
        let edge = n.min(length - 1 - n) as f32 / FADE as f32;
        sample * edge.min(1.0)
    })
}

pub(super) fn encode(audio: &[f32]) -> Vec<u8> {
    audio.iter().map(|sample| ulaw_encode((sample.clamp(-1.0, 1.0) * 32_767.0) as i16)).collect()
}
