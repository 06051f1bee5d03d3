//! The voices of Aura 2 (developers.deepgram.com/docs/tts-models): Deepgram has no API that lists them.

use std::sync::Arc;

use super::tts::DEFAULT_VOICE;
use crate::adapter_config::AdapterConfig;
use crate::voices::{Voice, VoiceList, Voices};

/// Languages, and the names of their voices.
const AURA_2: [(&str, &[&str]); 2] = [
    (
        "en",
        &[
            "amalthea",
            "andromeda",
            "apollo",
            "arcas",
            "aries",
            "asteria",
            "athena",
            "atlas",
            "aurora",
            "callista",
            "cora",
            "cordelia",
            "delia",
            "draco",
            "electra",
            "harmonia",
            "helena",
            "hera",
            "hermes",
            "hyperion",
            "iris",
            "janus",
            "juno",
            "jupiter",
            "luna",
            "mars",
            "minerva",
            "neptune",
            "odysseus",
            "ophelia",
            "orion",
            "orpheus",
            "pandora",
            "phoebe",
            "pluto",
            "saturn",
            "selene",
            "thalia",
            "theia",
            "vesta",
            "zeus",
        ],
    ),
    ("es", &["alvaro", "aquila", "carina", "celeste", "diana", "estrella", "javier", "nestor", "selena", "sirio"]),
];

/// Lists the voices of a connection. Incomplete: Deepgram adds voices more often than this list is updated.
pub(super) fn list(config: &AdapterConfig<'_>) -> Result<Arc<dyn Voices>, String> {
    let default = config.text("tts_voice")?.or(config.text("tts_model")?).unwrap_or(DEFAULT_VOICE);
    let voices = AURA_2.iter().flat_map(|(language, names)| {
        names.iter().map(move |name| {
            let shown = name[..1].to_uppercase() + &name[1..];
            Voice::new(&format!("aura-2-{name}-{language}"), &shown, &[language])
        })
    });
    Ok(VoiceList::of(voices, false, default))
}
