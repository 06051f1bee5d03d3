use super::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn a_response_is_over_when_it_is_closed_and_heard() {
    let now = Timestamp::from_millis(0);
    let mut playback = PlaybackLedger::default();
    let first = playback.add(Kind::Response, "Yes.", now);
    let second = playback.add(Kind::Response, "From ten to four.", now);
    assert!(second > first);
    playback.made(first, ms(500), Vec::new(), true, now);
    playback.finished(first, now);
    assert!(playback.take_finished().is_none());
    playback.close();
    playback.made(second, ms(1_000), Vec::new(), true, now);
    playback.played(second, ms(750), now);
    assert_eq!(playback.remaining(), Some(ms(250)));
    let cut = playback.cut().0.remove(0);
    assert_eq!((cut.text.as_str(), cut.interrupted), ("Yes. From ten to", true)); // 750 of 1000: 12 of 17 characters.
    assert!(playback.is_idle() && playback.played(second, ms(900), now).is_none(), "late marks fall away");
}

#[test]
fn of_an_item_no_more_is_truncated_than_there_is() {
    let now = Timestamp::from_millis(0);
    let mut playback = PlaybackLedger::default();
    let utterance = playback.add_item(Kind::Response, "r", "i", now);
    playback.item_text("i", "one two three four");
    playback.item_audio("i", ms(500), now);
    playback.played(utterance, ms(520), now);
    let (played, truncated) = playback.cut();
    assert_eq!((truncated[0].item.as_str(), truncated[0].heard), ("i", ms(500)));
    assert!(played[0].interrupted && played[0].text == "one two", "{}", played[0].text);
}
