//! Browsers that know the password and violate the protocol otherwise.

use std::time::Duration;

use super::{BROWSER, Network, tone};
use crate::opus::Encoder;
use crate::packet::has_application_data;

/// Fuzzes packets from a browser with the right keys: two bytes are the jump of the packet number, the rest is the content.
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        let mut encoder = Encoder::new().expect("an encoder");
        let mut packet =
            |jump: u16, frame| [&jump.to_be_bytes()[..], encoder.encode(frame).expect("a packet")].concat();
        let frames = tone(6);
        vec![
            frames.iter().map(|frame| packet(1, frame)).collect(),
            frames.iter().zip([1, 2, 7, 0, 30_000, 1]).map(|(frame, jump)| packet(jump, frame)).collect(),
        ]
    },
    read: |messages| {
        let mut call = Network::connected();
        call.session.listen();
        call.speaks = false;
        switchhook_fuzz::Read::each(messages, |message| {
            let (jump, audio) = message.split_first_chunk().ok_or("it has no number")?;
            // The maximum content of a packet.
            let audio = &audio[..audio.len().min(1_200)];
            let before = call.outputs.len();
            call.peer.send(call.now, u16::from_be_bytes(*jump), audio.to_vec());
            call.run(Duration::from_millis(40));
            assert!(!call.session.has_ended(), "audio ends no session");
            Ok::<_, &str>(640 * (call.outputs.len() - before))
        })
    },
};

/// Returns whether the browser is still heard.
fn is_heard(network: &mut Network) -> bool {
    network.says.extend(tone(25));
    network.run(Duration::from_secs(1));
    network.heard().iter().filter(|frame| frame.rms_dbfs() > -30.0).count() >= 20
}

#[test]
fn a_data_channel_that_was_not_agreed_on_is_not_answered() {
    let mut network = Network::connected();
    network.session.listen();
    network.peer.open_data_channel();
    network.run(Duration::from_secs(2));
    assert!(network.trace.iter().any(|packet| has_application_data(packet)), "the browser asks");
    assert!(!network.answers.iter().any(|packet| has_application_data(packet)), "the session does not answer");
    assert!(is_heard(&mut network));
}

#[test]
fn sources_without_number_cost_nothing_and_the_browser_is_heard() {
    let mut network = Network::connected();
    network.session.listen();
    let (mut out, now) = (Vec::new(), network.now);
    for source in 0..100_u32 {
        let packet = [&[0x80, 111, 0, 1, 0, 0, 0, 1][..], &source.to_be_bytes(), &[0; 40]].concat();
        network.session.receive(now, BROWSER, &packet, &mut out);
    }
    network.run(Duration::from_secs(1));
    assert!(is_heard(&mut network));
}

#[test]
fn numbers_that_jump_end_no_session() {
    let mut network = Network::connected();
    network.session.listen();
    // Further jumps are treated as late packets and fail authentication.
    for number in [500, 30_000, 60_000, 90_000, 90_001] {
        network.peer.jump_to(number);
        network.says.extend(tone(5));
        network.run(Duration::from_millis(200));
    }
    assert!(is_heard(&mut network) && !network.session.has_ended());
}
