//! Audio between a session and its browser.

use std::time::Duration;

use switchhook_media::format::FRAME_DURATION;
use switchhook_media::frame::Frame;

use super::{DELAY, Network, tone};
use crate::opus::FORMAT;
use crate::{End, Output};

const SECOND: Duration = Duration::from_secs(1);

/// Returns the number of audible frames.
fn loud(frames: &[Frame]) -> usize {
    frames.iter().filter(|frame| frame.rms_dbfs() > -30.0).count()
}

fn level(frames: &[Frame]) -> f32 {
    let samples: Vec<i16> = frames.iter().flat_map(|frame| frame.samples().to_vec()).collect();
    switchhook_media::level::rms_dbfs(&samples)
}

#[test]
fn both_sides_hear_each_other_within_a_second() {
    let mut network = Network::connected();
    assert!(network.outputs.iter().all(|(at, _)| *at < SECOND), "{:?}", network.outputs);
    network.session.listen();
    network.says.extend(tone(50));
    for frame in tone(50) {
        network.session.play(frame);
    }
    network.run(SECOND * 2);
    let heard = network.heard();
    assert!((99..=101).contains(&heard.len()), "{} frames in two seconds", heard.len());
    for (who, frames) in [("the service", heard), ("the browser", network.peer.heard.clone())] {
        assert!((49..=52).contains(&loud(&frames)), "{who} hears {} loud frames", loud(&frames));
        let spoken: Vec<Frame> = frames.into_iter().filter(|frame| frame.rms_dbfs() > -30.0).collect();
        let said = level(&tone(50));
        assert!((level(&spoken) - said).abs() < 1.5, "{who}: {} of {said} dBFS", level(&spoken));
    }
}

#[test]
fn nothing_is_heard_before_it_is_asked_for() {
    let mut network = Network::connected();
    network.says.extend(tone(50));
    network.run(SECOND);
    assert_eq!(network.heard(), []);
    network.says.clear();
    network.session.listen();
    network.run(SECOND);
    assert!((48..=51).contains(&network.heard().len()));
}

#[test]
fn a_lossy_network_that_reorders_costs_no_time_and_little_sound() {
    // Every eighth packet is lost, every fifth is late.
    let mut network = Network::connected_over(|number| match number {
        1..=20 => Some(DELAY),
        number if number % 8 == 0 => None,
        number if number % 5 == 0 => Some(DELAY + Duration::from_millis(35)),
        _ => Some(DELAY),
    });
    network.session.listen();
    network.says.extend(tone(250));
    network.run(SECOND * 5);
    let heard = network.heard();
    assert!((243..=251).contains(&heard.len()), "{} frames in five seconds", heard.len());
    assert!(loud(&heard) > 230, "{} are loud", loud(&heard));
    assert!((level(&heard) - level(&tone(250))).abs() < 3.0, "{} dBFS", level(&heard));
}

#[test]
fn audio_leaves_in_real_time_and_what_is_cleared_is_never_heard() {
    let mut network = Network::connected();
    for frame in tone(100) {
        network.session.play(frame);
    }
    network.session.mark(7);
    network.run(FRAME_DURATION * 25);
    network.session.clear();
    network.run(SECOND * 2);
    let heard = loud(&network.peer.heard);
    assert!((24..=27).contains(&heard), "{heard} frames of half a second");
    assert!(!network.has(|output| matches!(output, Output::Mark(_))), "its mark was not passed either");
    let numbers = network.peer.received.windows(2).all(|pair| pair[1] == pair[0] + 1);
    assert!(numbers, "silence goes on in the same stream");
}

#[test]
fn a_mark_passes_when_what_is_before_it_has_been_played() {
    let mut network = Network::connected();
    let before = network.now - network.start;
    for frame in tone(50) {
        network.session.play(frame);
    }
    network.session.mark(7);
    network.run(SECOND * 2);
    let (at, _) = network.outputs.iter().find(|(_, output)| *output == Output::Mark(7)).expect("a mark");
    let after = *at - before;
    assert!((SECOND..SECOND + Duration::from_millis(80)).contains(&after), "{after:?}");
}

#[test]
fn when_the_network_goes_nothing_that_was_to_be_heard_is_lost() {
    let mut network = Network::connected();
    for (number, frame) in tone(100).into_iter().enumerate() {
        let first = i16::try_from(number).expect("few");
        let samples = std::iter::once(first).chain(frame.samples()[1..].iter().copied());
        network.session.play(Frame::from_samples(frame.format(), samples));
    }
    network.session.mark(7);
    network.run(FRAME_DURATION * 20);
    let confirmed = loud(&network.peer.heard);
    network.fate = |_| None;
    network.under_way.clear();
    let gone = network.now - network.start;
    network.run(SECOND * 4);
    let failed = network.outputs.iter().find(|(_, output)| *output == Output::Failed(End::Quiet));
    let after = failed.expect("it is noticed").0 - gone;
    assert!((Duration::from_millis(900)..=Duration::from_millis(1_050)).contains(&after), "{after:?}");
    let unsent: Vec<(Duration, i16)> = network
        .outputs
        .iter()
        .filter_map(|(at, output)| match output {
            Output::Unsent(frame) => Some((*at, frame.samples()[0])),
            _ => None,
        })
        .collect();
    let (first, last) = (unsent[0].1, unsent[unsent.len() - 1].1);
    let expected: Vec<i16> = (first..=99).collect();
    assert_eq!(unsent.iter().map(|(_, number)| *number).collect::<Vec<_>>(), expected, "each once, in order");
    assert_eq!(last, 99);
    let first = usize::try_from(first).expect("a number");
    assert!(first <= confirmed + 1, "{first} is the first again, and {confirmed} were heard");
    assert!(first + 4 >= confirmed, "{first} is the first again, but {confirmed} were heard");
    let took = unsent[unsent.len() - 1].0 - unsent[0].0;
    let expected = FRAME_DURATION * u32::try_from(unsent.len() - 1).expect("few");
    assert!(took + FRAME_DURATION >= expected && took <= expected + FRAME_DURATION, "{took:?} for {expected:?}");
    assert!(network.has(|output| *output == Output::UnsentMark(7)));
    assert!(network.has(|output| *output == Output::Ended));
}

#[test]
fn a_browser_that_never_comes_is_given_up_after_five_seconds() {
    let mut network = Network::new(|_| None);
    network.run(SECOND * 6);
    let failed = network.outputs.iter().find(|(_, output)| *output == Output::Failed(End::NotConnected));
    let (at, _) = failed.expect("it is given up");
    assert_eq!(at.as_secs(), 5);
    assert!(network.has(|output| *output == Output::Ended) && network.session.has_ended());
}

#[test]
fn a_session_that_is_stopped_gives_back_what_was_not_played() {
    let mut network = Network::connected();
    for frame in tone(30) {
        network.session.play(frame);
    }
    let (mut out, now) = (Vec::new(), network.now);
    network.session.stop(now, &mut out);
    assert!(out.contains(&Output::Failed(End::Stopped)), "{out:?}");
    network.outputs.extend(
        out.into_iter()
            .filter(|output| !matches!(output, Output::Transmit(..)))
            .map(|output| (now - network.start, output)),
    );
    network.run(SECOND);
    let unsent = network.outputs.iter().filter(|(_, output)| matches!(output, Output::Unsent(_))).count();
    assert_eq!(unsent, 30);
    assert!(network.session.has_ended());
    assert_eq!(Frame::silence(FORMAT).samples().len(), 320);
}
