//! The corpus: what callers say or do in a call, as telephone audio, with the times at which it is said.

mod line;
mod noises;
mod plan;
mod voices;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};
use switchhook_media::g711::ulaw_decode;

use self::line::{Part as SpokenPart, Random};
use self::plan::{Planned, Source};
use self::voices::Voices;

/// Changes whenever the same sentences give other audio: a corpus of another version is made again.
const VERSION: &str = "2";
/// Room noise, repeated before, between and after items.
const ROOM_MS: u32 = 10_000;

/// The property that an item measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Class {
    /// A turn without a pause.
    Complete,
    /// A turn with one pause in it.
    Paused,
    /// Words by which the caller takes the turn while the agent speaks.
    Interruption,
    /// Words by which the caller only shows that they listen.
    Backchannel,
    /// Noises while the agent speaks that carry no meaning.
    Noise,
}

/// Which part of the corpus: settings are chosen on one and measured on the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Split {
    Tune,
    Test,
}

/// One thing that a caller says or does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Item {
    pub(crate) id: String,
    pub(crate) split: Split,
    pub(crate) class: Class,
    pub(crate) kind: String,
    pub(crate) voice: String,
    /// The agent's question before it.
    pub(crate) asked: String,
    /// Between parts is the pause.
    pub(crate) parts: Vec<Part>,
    /// Zero without a pause.
    pub(crate) pause_ms: u32,
}

/// Speech without a pause.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) text: String,
    /// First audible sound, in milliseconds from the start of the item's audio.
    pub(crate) start_ms: u32,
    /// Last audible sound.
    pub(crate) end_ms: u32,
}

impl Class {
    pub(crate) const ALL: [Self; 5] =
        [Self::Complete, Self::Paused, Self::Interruption, Self::Backchannel, Self::Noise];

    /// Returns whether the caller makes a sound while the agent speaks.
    pub(crate) fn is_overlap(self) -> bool {
        matches!(self, Self::Interruption | Self::Backchannel | Self::Noise)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Paused => "paused",
            Self::Interruption => "interruption",
            Self::Backchannel => "backchannel",
            Self::Noise => "noise",
        }
    }
}

impl Item {
    pub(crate) fn onset_ms(&self) -> u32 {
        self.parts.first().map_or(0, |part| part.start_ms)
    }

    /// Returns when the caller's turn really ends.
    pub(crate) fn end_ms(&self) -> u32 {
        self.parts.last().map_or(0, |part| part.end_ms)
    }

    pub(crate) fn text(&self) -> String {
        self.parts.iter().map(|part| part.text.as_str()).collect::<Vec<_>>().join(" ")
    }
}

/// An item with its audio.
#[derive(Clone)]
pub(crate) struct Clip {
    pub(crate) item: Item,
    /// 8 kHz µ-law, whole frames of 20 ms.
    pub(crate) audio: Vec<u8>,
}

/// All of it.
pub(crate) struct Corpus {
    pub(crate) clips: Vec<Clip>,
    /// Room noise without anybody, 8 kHz µ-law.
    pub(crate) room: Vec<u8>,
}

impl Corpus {
    /// Reads a corpus, which is made first if it is not there or of another version.
    pub(crate) fn open(folder: &Path, data_dir: &Path) -> anyhow::Result<Self> {
        if fs::read_to_string(folder.join("version")).is_ok_and(|version| version == VERSION) {
            return Self::read(folder);
        }
        make(folder, data_dir)?;
        Self::read(folder)
    }

    pub(crate) fn read(folder: &Path) -> anyhow::Result<Self> {
        let list = fs::read_to_string(folder.join("items.jsonl")).context("the corpus has no list of items")?;
        let clip = |row: &str| -> anyhow::Result<Clip> {
            let item: Item = serde_json::from_str(row)?;
            let audio = fs::read(path(folder, &item.id)).with_context(|| format!("the audio of {}", item.id))?;
            Ok(Clip { item, audio })
        };
        let clips = list.lines().map(clip).collect::<anyhow::Result<_>>()?;
        Ok(Self { clips, room: fs::read(path(folder, "room")).context("the room noise")? })
    }

    pub(crate) fn write(&self, folder: &Path) -> anyhow::Result<()> {
        fs::create_dir_all(folder)?;
        let mut list = String::new();
        for clip in &self.clips {
            fs::write(path(folder, &clip.item.id), &clip.audio)?;
            list.push_str(&serde_json::to_string(&clip.item)?);
            list.push('\n');
        }
        fs::write(path(folder, "room"), &self.room)?;
        Ok(fs::write(folder.join("items.jsonl"), list)?)
    }
}

impl Clip {
    /// With so much of the room before and after it.
    pub(crate) fn samples(&self, room: &[u8], before_ms: usize, after_ms: usize) -> Vec<i16> {
        let noise = room.iter().cycle();
        let bytes = noise.clone().take(before_ms * 8).chain(&self.audio).chain(noise.take(after_ms * 8));
        bytes.map(|byte| ulaw_decode(*byte)).collect()
    }
}

fn path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.ulaw"))
}

/// Makes the corpus: the same every time with the same programs and models.
fn make(folder: &Path, data_dir: &Path) -> anyhow::Result<()> {
    let voices = Voices::load(data_dir)?;
    let planned = plan::all()?;
    let bar = ProgressBar::new(planned.len() as u64);
    let (mut clips, mut dropped) = (Vec::new(), Vec::new());
    for planned in planned {
        match record(&voices, &planned).with_context(|| planned.item.id.clone())? {
            Some(clip) => clips.push(clip),
            // A voice that runs over the place of the pause would be cut within a word.
            None => dropped.push(planned.item.id),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if !dropped.is_empty() {
        eprintln!("Left out, because the voice makes no break there: {}", dropped.join(", "));
    }
    Corpus { clips, room: line::encode(&line::room(ROOM_MS, &mut Random::of("room"))) }.write(folder)?;
    Ok(fs::write(folder.join("version"), VERSION)?)
}

/// The audio of a planned item; nothing when the voice makes no break where the pause belongs.
fn record(voices: &Voices, planned: &Planned) -> anyhow::Result<Option<Clip>> {
    let mut item = planned.item.clone();
    let mut random = Random::of(&item.id);
    let parts = match &planned.source {
        Source::Speech => {
            let texts: Vec<&str> = item.parts.iter().map(|part| part.text.as_str()).collect();
            voices.say(&item.voice, &texts, &mut random)?
        }
        Source::Files(files) => Some(voices.play(files, &mut random)?),
        Source::Noise => Some(vec![noises::make(&item.kind, &item.voice, voices, &mut random)?]),
    };
    let Some(parts) = parts else { return Ok(None) };
    let (audio, places) = line::join(&parts, item.pause_ms, &mut random);
    for (part, place) in item.parts.iter_mut().zip(places) {
        (part.start_ms, part.end_ms) = place;
    }
    Ok(Some(Clip { item, audio }))
}

/// Audio at 8 kHz, from -1 to 1.
type Sound = SpokenPart;
