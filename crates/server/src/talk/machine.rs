//! Is it an answering machine? Its words give it away, and then its beep.

use switchhook_core::agent::{AgentConfig, MachineDetection};
use switchhook_core::language::Language;
use switchhook_media::frame::Frame;
use switchhook_media::tone::BeepDetector;

/// Nobody who has talked this long is a machine's greeting, in frames: 40 s.
const LISTEN_FOR: u32 = 2_000;
/// Words of the greeting may be understood this long after the beep that followed it, in frames: 5 s.
const BEEP_KEPT: u32 = 250;

/// Listens to the beginning of a call. A beep alone makes no machine: networks beep, too.
pub(super) struct MachineDetector {
    language: &'static Language,
    beeps: Option<BeepDetector>,
    frames: u32,
    known: bool,
    beeped_at: Option<u32>,
}

impl MachineDetector {
    pub(super) fn new(agent: &AgentConfig) -> Self {
        let language = Language::of(&agent.language);
        let beeps = (agent.answering_machine.mode == MachineDetection::Detect).then(BeepDetector::default);
        Self { language, beeps, frames: 0, known: false, beeped_at: None }
    }

    /// Whether the beep of a machine has just ended.
    pub(super) fn frame(&mut self, frame: &Frame) -> bool {
        self.frames += 1;
        if self.frames > LISTEN_FOR {
            self.beeps = None;
        }
        let beeped = self.beeps.as_mut().is_some_and(|beeps| beeps.push(frame));
        if beeped {
            self.beeped_at = Some(self.frames);
        }
        beeped && self.known
    }

    /// Whether a machine says these words; and then, whether its beep was heard already.
    pub(super) fn words(&mut self, text: &str) -> Option<bool> {
        let machine = self.beeps.is_some() && !self.known && self.language.is_voicemail(text);
        self.known |= machine;
        machine.then(|| self.beeped_at.is_some_and(|at| self.frames - at <= BEEP_KEPT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchhook_media::format::AudioFormat;
    use switchhook_media::tone::sine;

    fn detector_for(language: &str, mode: MachineDetection) -> MachineDetector {
        let mut agent = AgentConfig::new("Book tables.");
        (agent.language, agent.answering_machine.mode) = (language.to_owned(), mode);
        MachineDetector::new(&agent)
    }

    fn beeps(detector: &mut MachineDetector) -> usize {
        let mut audio = sine(1_000.0, 8_000, 0.35, 20 * 160);
        audio.extend([0; 20 * 160]);
        audio
            .chunks_exact(160)
            .filter(|chunk| detector.frame(&Frame::from_slice(AudioFormat::Narrowband, chunk)))
            .count()
    }

    #[test]
    fn a_machine_is_known_by_its_words_and_then_its_beep_counts() {
        let mut detector = detector_for("en-US", MachineDetection::Detect);
        assert_eq!(detector.words("Hi Ava. My name is Sarah Miller."), None);
        assert_eq!(detector.words("Hi, I can\u{2019}t take your call right now."), Some(false));
        assert_eq!((detector.words("after the tone"), beeps(&mut detector)), (None, 1));
        let mut slow = detector_for("en-US", MachineDetection::Detect);
        assert_eq!((beeps(&mut slow), slow.words("Leave a message.")), (0, Some(true)));
    }

    #[test]
    fn a_machine_speaks_the_language_of_the_agent() {
        let words = "Bitte hinterlassen Sie eine Nachricht nach dem Signalton.";
        for (language, known) in [("de-AT", Some(false)), ("en", None), ("xx", None)] {
            assert_eq!(detector_for(language, MachineDetection::Detect).words(words), known, "{language}");
        }
        assert_eq!(detector_for("xx", MachineDetection::Detect).words("Leave a message."), None);
    }

    #[test]
    fn nobody_is_a_machine_when_machines_are_not_looked_for() {
        let mut off = detector_for("en-US", MachineDetection::Off);
        assert_eq!((off.words("Leave a message after the tone"), beeps(&mut off)), (None, 0));
    }
}
