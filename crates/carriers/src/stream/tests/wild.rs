//! Conversations over media streams of peers that do what websockets permit, and what carriers do against their documentation,
//! in virtual time. Seeds determine them (`WILD_SEEDS`, `WILD_SEED`). From one that fails, steps are left out while it still fails.

mod peer;
mod script;

use std::future::ready;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::routing::any;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use switchhook_media::format::AudioFormat;
use switchhook_media::frame::{AgentAudio, CallerAudio, Frame};
use switchhook_media::g711::Law;
use tokio::io::{DuplexStream, ReadHalf};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use self::peer::{CLOSE, Line, PING, PONG, TEXT, frame, read_frame};
use self::script::{
    Carriage, Echo, Ending, Part, Said, Script, Step, audio, chunk, documented, plain, push_audio, script_of,
};
use super::{CALL, Noise, TOKEN};
use crate::media_queue::MediaReceiver;
use crate::stream::{HOLD_FOR, MESSAGE_LIMIT, StreamStart, serve};
use crate::{FromCarrier, Media, ToCarrier};

/// How many seeds are tried at most, and for how many seconds.
const SEEDS: u64 = 500;
const SECONDS: u64 = 2;
/// The time between two messages.
const PACE: Duration = Duration::from_millis(20);
/// How long the peer waits before it ends the stream. The agent has said everything by then.
const AFTERWARDS: Duration = Duration::from_secs(5);
/// How long a stream may take to end: a peer that is mute is given up after two waits of 10 s.
const ENDS_WITHIN: Duration = Duration::from_secs(30);
/// How long a conversation may take.
const WHOLE: Duration = Duration::from_secs(3_600);

/// What the conversation received.
#[derive(Debug, Default)]
struct Received {
    samples: Vec<i16>,
    keys: String,
    marks: Vec<u64>,
    is_broken: bool,
}

/// Reads what the service sends until it ends the connection, answers pings and sends marks back.
async fn listen(mut reader: ReadHalf<DuplexStream>, line: Arc<Line>, script: Script) -> Vec<(u8, Vec<u8>)> {
    let mut frames = Vec::new();
    while let Some((kind, content)) = read_frame(&mut reader).await {
        match kind {
            PING => line.write(&frame(PONG, &content)).await,
            CLOSE => line.write(&frame(CLOSE, &content)).await,
            TEXT => {
                for message in echoes(&script, &content) {
                    line.write(&script.framed(Carriage::Text, &message)).await;
                }
            }
            _ => {}
        }
        frames.push((kind, content));
    }
    frames
}

fn echoes(script: &Script, content: &[u8]) -> Vec<Vec<u8>> {
    let message: Value = String::from_utf8_lossy(content).parse().unwrap_or_default();
    let Some(mark) = message["mark"]["name"].as_str().and_then(|name| name.parse::<u64>().ok()) else {
        return Vec::new();
    };
    match script.echo {
        Echo::Never => Vec::new(),
        Echo::Once => vec![script.habits.mark(mark)],
        Echo::Twice => vec![script.habits.mark(mark); 2],
        Echo::Other => vec![script.habits.noise(&Noise::MarkOfOthers)],
    }
}

async fn hear(mut incoming: MediaReceiver) -> Received {
    let mut received = Received::default();
    while let Some(message) = incoming.recv().await {
        match message {
            FromCarrier::Audio(CallerAudio(frame)) => received.samples.extend(frame.samples()),
            FromCarrier::Dtmf(key) => received.keys.push(key),
            FromCarrier::MarkPlayed(mark) => received.marks.push(mark),
            FromCarrier::Broken => received.is_broken = true,
        }
    }
    received
}

async fn say(outgoing: mpsc::Sender<ToCarrier>, says: Vec<Said>) -> bool {
    for (mark, said) in (0_u64..).zip(says) {
        let message = match said {
            Said::Audio(level) => {
                ToCarrier::Audio(AgentAudio(Frame::from_slice(AudioFormat::Narrowband, &[level; 160])))
            }
            Said::Mark => ToCarrier::Mark(mark),
            Said::Clear => ToCarrier::Clear,
        };
        if outgoing.send(message).await.is_err() {
            return false;
        }
        sleep(PACE).await;
    }
    true
}

/// A stream that has begun.
struct Open {
    line: Arc<Line>,
    media: Media,
    listening: JoinHandle<Vec<(u8, Vec<u8>)>>,
    served: mpsc::UnboundedReceiver<()>,
}

/// Begins a stream.
async fn open(script: &Script) -> Result<Open, String> {
    let (attached, mut attachments) = mpsc::unbounded_channel();
    let (over, served) = mpsc::unbounded_channel();
    let carrier = script.habits.carrier;
    let accept = move |upgrade: WebSocketUpgrade| async move {
        let upgrade = upgrade.max_message_size(MESSAGE_LIMIT).max_frame_size(MESSAGE_LIMIT);
        upgrade.on_upgrade(move |socket| async move {
            let attach = move |start: StreamStart, media: Media| ready(attached.send((start, media)).is_ok());
            serve(socket, carrier.protocol(), AudioFormat::Narrowband, attach).await;
            let _ = over.send(());
        })
    };
    let (reader, line) = peer::connect(Router::new().route("/", any(accept))).await;
    let line = Arc::new(line);
    let listening = tokio::spawn(listen(reader, line.clone(), script.clone()));
    line.write(&script.framed(Carriage::Text, &script.habits.connected())).await;
    for noise in &script.before {
        line.write(&script.framed(Carriage::Text, &script.habits.noise(noise))).await;
    }
    line.write(&script.framed(script.start, &script.habits.start())).await;
    let attached = timeout(ENDS_WITHIN, attachments.recv()).await.map_err(|_| "the stream does not begin")?;
    let (start, media) = attached.ok_or("the stream does not begin")?;
    let whose = (start.carrier_call_id.as_str(), start.token.as_deref());
    if whose != (CALL, Some(TOKEN)) || !media.gaps_are_silence {
        return Err(format!("it begins as {start:?}"));
    }
    Ok(Open { line, media, listening, served })
}

/// Plays a conversation.
///
/// # Errors
/// What is wrong with it.
async fn play(script: &Script) -> Result<(), String> {
    let Open { line, media, listening, mut served } = open(script).await?;
    let Media { incoming, outgoing, .. } = media;
    let hearing = tokio::spawn(hear(incoming));
    let saying = tokio::spawn(say(outgoing.clone(), script.says.clone()));
    for (carriage, step) in &script.steps {
        script.take(&line, *carriage, step).await;
        sleep(PACE).await;
    }
    sleep(AFTERWARDS).await;
    if !saying.await.map_err(|error| error.to_string())? {
        return Err("the stream ends before its last step".to_owned());
    }
    let outgoing = (script.ending != Ending::AgentLeaves).then_some(outgoing);
    script.end(&line).await;
    let served = timeout(ENDS_WITHIN, served.recv()).await.map_err(|_| "the stream does not end")?;
    served.ok_or("the stream panics")?;
    drop(outgoing);
    let received = hearing.await.map_err(|error| error.to_string())?;
    let frames = listening.await.map_err(|error| error.to_string())?;
    check_received(script, &received)?;
    check_sent(script, &frames)
}

fn check_received(script: &Script, received: &Received) -> Result<(), String> {
    let expected = script.expected_samples();
    if received.samples != expected {
        let equal = received.samples.iter().zip(&expected).take_while(|(heard, sent)| heard == sent).count();
        let (heard, sent) = (received.samples.len(), expected.len());
        return Err(format!("{heard} samples are heard of {sent}; the first {equal} are equal"));
    }
    let mut marks = received.marks.clone();
    marks.sort_unstable();
    if marks != script.expected_marks() || received.keys != script.expected_keys() || received.is_broken {
        let Received { keys, is_broken, .. } = received;
        return Err(format!("keys {keys:?}, marks {marks:?}, broken: {is_broken}"));
    }
    Ok(())
}

fn check_sent(script: &Script, frames: &[(u8, Vec<u8>)]) -> Result<(), String> {
    let is_closed = frames.last().is_some_and(|(kind, _)| *kind == CLOSE);
    if matches!(script.ending, Ending::Stop | Ending::Close | Ending::AgentLeaves) && !is_closed {
        return Err("the websocket is not closed".to_owned());
    }
    let mut sent = Vec::new();
    for (kind, content) in frames {
        match *kind {
            TEXT => {
                let message: Value =
                    String::from_utf8_lossy(content).parse().map_err(|_| "the service sends no JSON")?;
                let payload = message["media"]["payload"].as_str().unwrap_or_default();
                let media = documented(script.habits.carrier, "media", Some(json!({ "payload": payload })));
                if message == media {
                    let audio = BASE64_STANDARD.decode(payload).map_err(|error| error.to_string())?;
                    push_audio(&mut sent, &audio);
                } else {
                    sent.push(Part::Other(message));
                }
            }
            CLOSE | PING | PONG => {}
            other => return Err(format!("the service sends a frame of kind {other}")),
        }
    }
    let expected = script.expected_sent();
    let equal = sent.iter().zip(&expected).take_while(|(came, sent)| came == sent).count();
    let (came, meant) = (sent.len(), expected.len());
    if sent == expected { Ok(()) } else { Err(format!("{came} of {meant} parts of the agent come, {equal} are equal")) }
}

/// Plays a conversation in virtual time. Returns what is wrong with it.
fn fault(script: &Script) -> Option<String> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().expect("a runtime");
    let played = runtime.block_on(async { timeout(WHOLE, play(script)).await });
    played.unwrap_or_else(|_| Err("it does not end".to_owned())).err()
}

/// Leaves out steps while the script still fails.
fn shrunk(mut script: Script, mut why: String, fault: impl Fn(&Script) -> Option<String>) -> (Script, String) {
    for at in (0..script.steps.len()).rev() {
        let mut shorter = script.clone();
        shorter.steps.remove(at);
        if let Some(still) = fault(&shorter) {
            (script, why) = (shorter, still);
        }
    }
    let silent = Script { says: Vec::new(), before: Vec::new(), ..script.clone() };
    match fault(&silent) {
        Some(why) => (silent, why),
        None => (script, why),
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "shown if the conversation panics or hangs")]
fn conversations_with_wild_carriers_are_heard_and_end() {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().expect("a number"));
    let (count, only) = (number("WILD_SEEDS"), number("WILD_SEED"));
    let seeds = only.map_or(0..count.unwrap_or(SEEDS), |seed| seed..seed + 1);
    let budget = Duration::from_secs(number("SWITCHHOOK_RANDOM_SECONDS").unwrap_or(SECONDS));
    let began = Instant::now();
    for seed in seeds {
        if count.or(only).is_none() && seed > 0 && began.elapsed() > budget {
            break;
        }
        let script = script_of(seed);
        println!("WILD_SEED={seed}");
        if let Some(why) = fault(&script) {
            let (script, why) = shrunk(script, why, fault);
            panic!("WILD_SEED={seed}: {why}\n{script:#?}");
        }
    }
}

#[test]
fn a_failing_conversation_is_shortened_to_the_step_that_fails() {
    let fails = |script: &Script| script.expected_keys().contains('7').then(String::new);
    let keys = "0123456789".chars().map(|key| (Carriage::Text, Step::Key(key))).collect();
    let (script, _) = shrunk(plain(keys), String::new(), fails);
    assert_eq!((script.expected_keys().as_str(), script.says.len()), ("7", 0));
}

#[test]
fn a_stream_whose_messages_have_byte_order_marks_is_read() {
    let steps = vec![(Carriage::Marked, chunk(1)), (Carriage::Marked, Step::Key('5'))];
    assert_eq!(fault(&Script { start: Carriage::Marked, ..plain(steps) }), None);
}

#[tokio::test(start_paused = true)]
async fn a_phrase_with_a_lost_chunk_is_heard_before_the_next_one() {
    let script = plain(Vec::new());
    let Open { line, media, .. } = open(&script).await.expect("it begins");
    let Media { mut incoming, outgoing, .. } = media;
    for number in [1, 3, 4] {
        script.take(&line, Carriage::Text, &chunk(number)).await;
    }
    for number in [1, 3, 4] {
        let heard = timeout(HOLD_FOR * 2, incoming.recv()).await.expect("it is heard");
        let expected = Frame::from_samples(
            AudioFormat::Narrowband,
            audio(number, 160).into_iter().map(|byte| Law::Mu.decode(byte)),
        );
        assert_eq!(heard, Some(FromCarrier::Audio(CallerAudio(expected))));
    }
    drop(outgoing);
}

#[tokio::test(start_paused = true)]
async fn the_waits_for_several_lost_chunks_do_not_add_up() {
    let script = plain(Vec::new());
    let Open { line, media, .. } = open(&script).await.expect("it begins");
    let Media { mut incoming, outgoing, .. } = media;
    for number in [1, 3, 5, 7, 9] {
        script.take(&line, Carriage::Text, &chunk(number)).await;
    }
    let began = tokio::time::Instant::now();
    for _ in 0..5 {
        timeout(ENDS_WITHIN, incoming.recv()).await.expect("it is heard");
    }
    assert!(began.elapsed() < HOLD_FOR * 2, "{:?}", began.elapsed());
    drop(outgoing);
}

#[tokio::test(start_paused = true)]
async fn the_last_words_behind_a_lost_chunk_are_heard_although_the_stream_stops() {
    let script = plain(Vec::new());
    let Open { line, media, .. } = open(&script).await.expect("it begins");
    let Media { incoming, outgoing, .. } = media;
    for number in [1, 3, 4] {
        script.take(&line, Carriage::Text, &chunk(number)).await;
    }
    script.end(&line).await;
    let heard = timeout(ENDS_WITHIN, hear(incoming)).await.expect("it ends");
    assert_eq!(heard.samples.len(), 3 * AudioFormat::Narrowband.frame_samples());
    drop(outgoing);
}
