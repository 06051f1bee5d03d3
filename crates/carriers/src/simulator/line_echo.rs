//! A line that echoes the agent's voice.

use std::collections::VecDeque;

use switchhook_media::format::AudioFormat;
use switchhook_media::frame::Frame;

use super::settings::Faults;

/// The length of a frame.
const FRAME_MS: u32 = 20;

/// Returns the agent's audio to the agent, delayed and attenuated.
pub(super) struct LineEcho {
    /// The factor applied to each sample; `None` without echo.
    gain: Option<f32>,
    /// Delayed frames, oldest first.
    on_the_way: VecDeque<Frame>,
}

impl LineEcho {
    pub(super) fn new(faults: &Faults, format: AudioFormat) -> Self {
        let gain = (faults.echo_loss_db > 0.0).then(|| 10_f32.powf(-faults.echo_loss_db / 20.0));
        let frames = faults.echo_delay_ms / FRAME_MS;
        let on_the_way = (0..frames).filter(|_| gain.is_some()).map(|_| Frame::silence(format)).collect();
        Self { gain, on_the_way }
    }

    /// Returns what the agent hears when the caller sends `caller` and the agent sends `agent`.
    pub(super) fn heard(&mut self, caller: Frame, agent: Option<&Frame>) -> Frame {
        let Some(gain) = self.gain else { return caller };
        self.on_the_way.push_back(agent.cloned().unwrap_or_else(|| Frame::silence(caller.format())));
        let Some(back) = self.on_the_way.pop_front() else { return caller };
        #[expect(clippy::cast_possible_truncation, reason = "weaker than a sample")]
        let mixed = caller
            .samples()
            .iter()
            .zip(back.samples())
            .map(|(caller, back)| caller.saturating_add((f32::from(*back) * gain) as i16));
        Frame::from_slice(caller.format(), &mixed.collect::<Vec<i16>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_hears_itself_later_and_weaker_beneath_the_caller() {
        let format = AudioFormat::Narrowband;
        let frame = |sample: i16| Frame::from_slice(format, &vec![sample; format.frame_samples()]);
        let faults = Faults { echo_loss_db: 20.0, echo_delay_ms: 40, ..Faults::default() };
        let mut echo = LineEcho::new(&faults, format);
        let heard: Vec<i16> =
            (1..=4).map(|n| echo.heard(frame(3), (n < 3).then(|| frame(n * 1_000)).as_ref()).samples()[0]).collect();
        assert_eq!(heard, [3, 3, 103, 203]);
        let mut clean = LineEcho::new(&Faults::default(), format);
        assert_eq!(clean.heard(frame(3), Some(&frame(9_000))).samples()[0], 3);
    }
}
