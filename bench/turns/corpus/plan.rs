//! Which items there are: sentences, voices and pauses, in an order that never changes.

use anyhow::Context as _;

use super::{Class, Item, Part, Split};

/// Columns: class, kind, what the agent asks, the words; `|` is where the pause belongs.
const TUNE: &str = include_str!("../sentences/tune.tsv");
const TEST: &str = include_str!("../sentences/test.tsv");
/// Columns: class, kind, voice, what the agent asks, recordings, the words.
const RECORDINGS: &str = include_str!("../sentences/recordings.tsv");

/// No voice, and no engine but our own at another pitch and flite with another speaker, is in both splits.
const TUNE_VOICES: [&str; 6] = ["hibari-low", "flite-slt", "hibari-high", "flite-awb", "hibari-low", "espeak-us"];
const TEST_VOICES: [&str; 4] = ["hibari", "pico-us", "flite-rms", "pico-gb"];
pub(crate) const PAUSES_MS: [u32; 5] = [300, 500, 700, 1_000, 1_500];
/// Each recorded turn is played with so many of the pauses.
const PAUSES_OF_A_RECORDING: usize = 3;
const NOISES: [&str; 3] = ["cough", "keys", "television"];
/// Different ones of each noise.
const OF_EACH_NOISE: usize = 5;
const HUMS: [&str; 4] = ["hum-low", "hum-high", "hum-low", "hum-high"];
/// Voices that say each sentence.
const SPEAKERS: usize = 2;

/// The source of an item's audio.
pub(super) enum Source {
    Speech,
    Files(Vec<String>),
    Noise,
}

pub(super) struct Planned {
    pub(super) item: Item,
    pub(super) source: Source,
}

pub(super) fn all() -> anyhow::Result<Vec<Planned>> {
    let mut planned = Vec::new();
    for (split, sentences, voices) in [(Split::Tune, TUNE, &TUNE_VOICES[..]), (Split::Test, TEST, &TEST_VOICES[..])] {
        for (number, row) in sentences.lines().enumerate() {
            spoken(split, number, row, voices, &mut planned).with_context(|| row.to_owned())?;
        }
        sounds(split, &mut planned);
    }
    for (number, row) in RECORDINGS.lines().enumerate() {
        recorded(number, row, &mut planned).with_context(|| row.to_owned())?;
    }
    Ok(planned)
}

fn spoken(split: Split, number: usize, row: &str, voices: &[&str], planned: &mut Vec<Planned>) -> anyhow::Result<()> {
    let columns: Vec<&str> = row.split('\t').collect();
    let &[class, kind, asked, text] = columns.as_slice() else { anyhow::bail!("four columns are wanted") };
    let class = parse(class)?;
    let item = |voice: &str, pause_ms| item(split, class, kind, voice, asked, text, number, pause_ms);
    let voice = |turn: usize| voices[(number + turn) % voices.len()];
    let items: Vec<Item> = if class == Class::Paused {
        PAUSES_MS.iter().enumerate().map(|(turn, pause_ms)| item(voice(turn), *pause_ms)).collect()
    } else {
        (0..SPEAKERS).map(|turn| item(voice(turn * 3), 0)).collect()
    };
    planned.extend(items.into_iter().map(|item| Planned { item, source: Source::Speech }));
    Ok(())
}

fn sounds(split: Split, planned: &mut Vec<Planned>) {
    for (number, voice) in HUMS.into_iter().enumerate() {
        let item = item(split, Class::Backchannel, "hum", voice, "", "Mm-hmm.", number, 0);
        planned.push(Planned { item, source: Source::Noise });
    }
    let room = if split == Split::Tune { "tune" } else { "test" };
    for kind in NOISES {
        for number in 0..OF_EACH_NOISE {
            let item = item(split, Class::Noise, kind, room, "", "", number, 0);
            planned.push(Planned { item, source: Source::Noise });
        }
    }
}

/// People are in the test split only.
fn recorded(number: usize, row: &str, planned: &mut Vec<Planned>) -> anyhow::Result<()> {
    let columns: Vec<&str> = row.split('\t').collect();
    let &[class, kind, voice, asked, files, text] = columns.as_slice() else { anyhow::bail!("six columns are wanted") };
    let class = parse(class)?;
    let pauses: Vec<u32> = if class == Class::Paused {
        (0..PAUSES_OF_A_RECORDING).map(|turn| PAUSES_MS[(number + 2 * turn) % PAUSES_MS.len()]).collect()
    } else {
        vec![0]
    };
    for pause_ms in pauses {
        let files = files.split(' ').map(str::to_owned).collect();
        let item = item(Split::Test, class, kind, voice, asked, text, number, pause_ms);
        planned.push(Planned { item, source: Source::Files(files) });
    }
    Ok(())
}

fn parse(class: &str) -> anyhow::Result<Class> {
    Class::ALL.into_iter().find(|known| known.name() == class).with_context(|| format!("there is no class {class}"))
}

#[expect(clippy::too_many_arguments, reason = "one for each column")]
fn item(
    split: Split,
    class: Class,
    kind: &str,
    voice: &str,
    asked: &str,
    text: &str,
    number: usize,
    pause_ms: u32,
) -> Item {
    let name = if split == Split::Tune { "tune" } else { "test" };
    let parts = text.split('|').map(|part| Part { text: part.trim().to_owned(), start_ms: 0, end_ms: 0 }).collect();
    let pause = if pause_ms > 0 { format!("-{pause_ms}") } else { String::new() };
    Item {
        id: format!("{name}-{}-{kind}-{number:02}-{voice}{pause}", class.name()),
        split,
        class,
        kind: kind.to_owned(),
        voice: voice.to_owned(),
        asked: asked.to_owned(),
        parts,
        pause_ms,
    }
}
