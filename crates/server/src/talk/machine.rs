//! Detects answering machines by the words of their greeting and the beep after it.

use switchhook_core::agent::{AgentConfig, MachineDetection};
use switchhook_core::conversation::Input;
use switchhook_core::language::{Language, MachineWords};
use switchhook_media::frame::Frame;
use switchhook_media::tone::BeepDetector;

/// How long to listen for a machine's greeting, in frames: 40 s. None is longer.
const LISTEN_FOR: u32 = 2_000;
/// How long after a beep the greeting before it may still be transcribed, in frames: 5 s.
const BEEP_KEPT: u32 = 250;

/// Listens to the beginning of a call. A beep alone does not prove a machine: networks beep too.
pub(super) struct MachineDetector {
    language: &'static Language,
    beeps: Option<BeepDetector>,
    frames: u32,
    known: Option<MachineWords>,
    beeped_at: Option<u32>,
}

impl MachineDetector {
    pub(super) fn new(agent: &AgentConfig) -> Self {
        let language = Language::of(&agent.language);
        let beeps = (agent.answering_machine.mode == MachineDetection::Detect).then(BeepDetector::default);
        Self { language, beeps, frames: 0, known: None, beeped_at: None }
    }

    /// Returns whether the beep of a machine has just ended.
    pub(super) fn frame(&mut self, frame: &Frame) -> bool {
        self.frames += 1;
        if self.frames > LISTEN_FOR {
            self.beeps = None;
        }
        let beeped = self.beeps.as_mut().is_some_and(|beeps| beeps.push(frame));
        if beeped {
            self.beeped_at = Some(self.frames);
        }
        beeped && self.known.is_some()
    }

    /// Returns that a machine said this text, unless that is already known.
    pub(super) fn words(&mut self, text: &str, is_final: bool) -> Option<Input> {
        let found = self.language.machine_words(text, is_final).filter(|_| self.beeps.is_some())?;
        if self.known >= Some(found) {
            return None;
        }
        self.known = Some(found);
        let beep = self.beeped_at.is_some_and(|at| self.frames - at <= BEEP_KEPT);
        Some(Input::MachineDetected { beep, by: found.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchhook_core::conversation::MachineEvidence;
    use switchhook_media::format::AudioFormat;
    use switchhook_media::tone::sine;

    fn detector_for(language: &str, mode: MachineDetection) -> MachineDetector {
        let mut agent = AgentConfig::new("Book tables.");
        (agent.language, agent.answering_machine.mode) = (language.to_owned(), mode);
        MachineDetector::new(&agent)
    }

    fn machine(beep: bool, by: MachineEvidence) -> Option<Input> {
        Some(Input::MachineDetected { beep, by })
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
        assert_eq!(detector.words("Hi Ava. My name is Sarah Miller.", true), None);
        let greeting = "Hi, I can\u{2019}t take your call right now.";
        assert_eq!(detector.words(greeting, true), machine(false, MachineEvidence::Words));
        assert_eq!((detector.words("Leave a message.", true), beeps(&mut detector)), (None, 1));
        let mut slow = detector_for("en-US", MachineDetection::Detect);
        assert_eq!(beeps(&mut slow), 0);
        assert_eq!(slow.words("Leave a message.", true), machine(true, MachineEvidence::Words));
    }

    #[test]
    fn a_recording_is_known_at_once_and_what_may_become_a_question_only_at_its_end() {
        let mut detector = detector_for("en-US", MachineDetection::Detect);
        assert_eq!(detector.words("She is out, leave a message", false), None);
        assert_eq!(detector.words("Leave a message", true), machine(false, MachineEvidence::Words));
        assert_eq!(detector.words("after the tone", false), machine(false, MachineEvidence::Recording));
        assert_eq!(detector.words("after the tone", true), None, "it is known");
    }

    #[test]
    fn a_machine_speaks_the_language_of_the_agent() {
        let words = "Bitte hinterlassen Sie eine Nachricht nach dem Signalton.";
        let known = machine(false, MachineEvidence::Recording);
        for (language, known) in [("de-AT", known), ("en", None), ("xx", None)] {
            assert_eq!(detector_for(language, MachineDetection::Detect).words(words, true), known, "{language}");
        }
        assert_eq!(detector_for("xx", MachineDetection::Detect).words("Leave a message.", true), None);
    }

    #[test]
    fn disabled_detection_reports_no_machine() {
        let mut off = detector_for("en-US", MachineDetection::Off);
        assert_eq!((off.words("Leave a message after the tone", true), beeps(&mut off)), (None, 0));
    }
}
