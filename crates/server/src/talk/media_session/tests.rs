//! The agent's audio as heard at a phone, behind a network with jitter and a carrier that buffers, in virtual time.

use std::collections::HashSet;

use switchhook_carriers::media_queue::media_queue;
use switchhook_media::format::AudioFormat;
use switchhook_media::wav;
use tokio::sync::mpsc::Receiver;
use uuid::Uuid;

use super::*;
use crate::recordings::Recordings;
use crate::talk::audience::Audience;

const UTTERANCE: u32 = 1;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A carrier that plays a frame when the one before it ends.
struct Phone {
    began: Instant,
    to_carrier: Receiver<ToCarrier>,
    /// The delay of each message, in turn; none overtakes another.
    network: Vec<u64>,
    messages: usize,
    arrived_at: Instant,
    /// Numbers of the frames, and when they play.
    frames: Vec<(i16, Instant)>,
    /// The number of frames that count as heard.
    heard: u64,
}

impl Phone {
    /// Returns both ends of a connection over such a network.
    fn connect(buffered: bool, network: Vec<u64>) -> (MediaSession, Self) {
        let (_to_us, incoming) = media_queue();
        let (outgoing, to_carrier) = mpsc::channel(200);
        let began = Instant::now();
        let phone = Self { began, to_carrier, network, messages: 0, arrived_at: began, frames: Vec::new(), heard: 0 };
        (
            MediaSession::new(
                Media { incoming, outgoing, buffered, gaps_are_silence: true, shows_conversation: false },
                AudioFormat::Narrowband,
                None,
                Audience::default().open(AudioFormat::Narrowband),
            ),
            phone,
        )
    }

    /// Receives what has been sent so far.
    fn take(&mut self) {
        while let Ok(message) = self.to_carrier.try_recv() {
            let arrives = Instant::now() + ms(self.network[self.messages % self.network.len()]);
            self.messages += 1;
            self.arrived_at = self.arrived_at.max(arrives);
            let at = self.arrived_at;
            match message {
                ToCarrier::Audio(audio) => {
                    let free = self.frames.last().map_or(at, |(_, plays_at)| *plays_at + FRAME_DURATION);
                    self.frames.push((audio.0.samples()[0], free.max(at)));
                }
                ToCarrier::Clear => self.frames.retain(|(_, plays_at)| *plays_at <= at),
                ToCarrier::Mark(_) | ToCarrier::Info(_) => {}
            }
        }
    }

    fn numbers(&self) -> Vec<i16> {
        self.frames.iter().map(|(number, _)| *number).collect()
    }

    /// Returns the silences between the frames.
    fn gaps(&self) -> Vec<Duration> {
        let between = self.frames.windows(2).map(|two| two[1].1 - two[0].1 - FRAME_DURATION);
        between.filter(|gap| !gap.is_zero()).collect()
    }

    fn silent_from(&self) -> Duration {
        self.frames.last().map_or(Duration::ZERO, |(_, plays_at)| *plays_at + FRAME_DURATION - self.began)
    }
}

/// Queues an utterance of this many frames; the samples of each are its number.
fn say(media_session: &mut MediaSession, frames: i16) {
    media_session.playback.queue_last(UTTERANCE);
    for number in 0..frames {
        media_session.playback.push(UTTERANCE, &[number; 160]);
    }
    media_session.playback.complete(UTTERANCE);
}

/// Runs these ticks, each with its delay.
async fn tick(
    media_session: &mut MediaSession,
    phone: &mut Phone,
    ticks: std::ops::Range<u32>,
    late: impl Fn(u32) -> u64,
) {
    for tick in ticks {
        let due = phone.began + FRAME_DURATION * tick;
        tokio::time::sleep_until(due + ms(late(tick))).await;
        if let Some(played) = media_session.tick(due).heard.last() {
            phone.heard = played.samples / 160;
        }
        phone.take();
    }
}

#[tokio::test(start_paused = true)]
async fn jitter_and_stalls_are_not_heard_where_the_carrier_buffers() {
    // Up to 40 ms more than the network's minimum of 30 ms.
    let jitter: Vec<u64> = (0..97_u64).map(|n| 30 + n * n * 7 % 41).collect();
    // Once a second the node stalls for up to 80 ms.
    let stalls = |tick: u32| if tick % 50 == 49 { u64::from(tick % 80) } else { 0 };
    let punctual: fn(u32) -> u64 = |_| 0;
    for (network, late) in [(jitter, punctual), (vec![30], stalls)] {
        for buffered in [false, true] {
            let (mut media_session, mut phone) = Phone::connect(buffered, network.clone());
            say(&mut media_session, 564);
            tick(&mut media_session, &mut phone, 0..600, late).await;
            assert_eq!(phone.numbers(), (0..564).collect::<Vec<_>>());
            assert_eq!(phone.gaps().is_empty(), buffered, "{:?}", phone.gaps());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pause_is_silent_at_once_and_playback_resumes_with_unheard_audio() {
    for pause_at in 1_000..1_020 {
        let (mut media_session, mut phone) = Phone::connect(true, vec![15]);
        say(&mut media_session, 200);
        tick(&mut media_session, &mut phone, 0..51, |_| 0).await;
        tokio::time::sleep_until(phone.began + ms(pause_at)).await;
        media_session.pause();
        phone.take();
        let silent = phone.silent_from();
        assert!(silent <= ms(pause_at + 60), "paused at {pause_at} ms, silent at {silent:?}");

        let played = u64::try_from(phone.frames.len()).expect("few");
        tick(&mut media_session, &mut phone, 52..75, |_| 0).await;
        assert!((played - 1..=played).contains(&phone.heard), "{played} were played, {} count as heard", phone.heard);
        media_session.playback.resume();
        tick(&mut media_session, &mut phone, 75..300, |_| 0).await;
        let numbers = phone.numbers();
        assert!(numbers.windows(2).all(|two| (0..=1).contains(&(two[1] - two[0]))), "nothing is left out");
        assert_eq!(numbers.iter().collect::<HashSet<_>>().len(), 200);
        assert!(numbers.len() <= 201, "at most the frame that was cut short is played again");
        assert_eq!(phone.heard, 200);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_sent_ahead_and_thrown_away_does_not_count_as_heard() {
    let (mut media_session, mut phone) = Phone::connect(true, vec![0]);
    say(&mut media_session, 200);
    tick(&mut media_session, &mut phone, 0..51, |_| 0).await;
    assert_eq!((phone.frames.len(), phone.heard), (55, 51), "a lead of 100 ms");
    media_session.clear();
    phone.take();
    tick(&mut media_session, &mut phone, 51..100, |_| 0).await;
    assert_eq!((phone.frames.len(), phone.heard), (51, 51));
}

#[tokio::test(start_paused = true)]
async fn tones_of_keys_are_not_thrown_away_with_speech() {
    let (mut media_session, mut phone) = Phone::connect(true, vec![0]);
    media_session.dialer.press("12");
    tick(&mut media_session, &mut phone, 0..3, |_| 0).await;
    say(&mut media_session, 50);
    media_session.pause();
    tick(&mut media_session, &mut phone, 3..40, |_| 0).await;
    assert_eq!(phone.frames.len(), 18, "two keys, each 100 ms and 80 ms of pause");
    media_session.clear();
    phone.take();
    assert_eq!(phone.frames.len(), 18);
}

#[tokio::test(start_paused = true)]
async fn a_recording_is_as_long_as_the_call_whatever_was_lost_or_late() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let recording = Recordings::below(folder.path()).of(Uuid::nil(), Uuid::nil());
    let (line, incoming) = media_queue();
    let (outgoing, mut to_carrier) = mpsc::channel(200);
    let media = Media { incoming, outgoing, buffered: true, gaps_are_silence: true, shows_conversation: false };
    let mut media_session = MediaSession::new(
        media,
        AudioFormat::Narrowband,
        Some(Recorder::start(recording.clone(), AudioFormat::Narrowband)),
        Audience::default().open(AudioFormat::Narrowband),
    );
    let began = Instant::now();
    say(&mut media_session, 500);
    // The node stalls for three seconds, and then catches up with its ticks. Every third frame of the caller is lost.
    for tick in 0..500_u32 {
        let due = began + FRAME_DURATION * tick;
        let stalled = (100..250).contains(&tick);
        tokio::time::sleep_until(if stalled { began + FRAME_DURATION * 250 } else { due }).await;
        if tick % 3 != 0
            && line.send(FromCarrier::Audio(CallerAudio(Frame::from_slice(AudioFormat::Narrowband, &[7; 160]))))
        {
            let message = media_session.media.incoming.recv().await;
            media_session.arrived(message);
        }
        media_session.tick(due);
        while to_carrier.try_recv().is_ok() {}
    }
    assert!(media_session.written().await);
    let recorded = wav::read(&std::fs::read(recording.path()).expect("a file")).expect("a recording");
    assert_eq!(recorded.channels[0].len(), 500 * 160, "ten seconds");
    assert_eq!(recorded.channels[1].len(), 500 * 160);
}
