use proptest::prelude::*;
use serde_json::json;

use super::*;

const ALL: [Redact; 5] =
    [Redact::CardNumbers, Redact::PhoneNumbers, Redact::EmailAddresses, Redact::Digits, Redact::Dtmf];

fn check(kind: Redact, table: &[(&str, &str)]) {
    for (text, expected) in table {
        assert_eq!(Redactor::new(&[kind]).text(text), *expected, "{text}");
    }
}

#[test]
fn card_numbers_are_distinguished_from_other_numbers_by_their_check_digit() {
    check(
        Redact::CardNumbers,
        &[
            ("It is 4111 1111 1111 1111.", "It is [card_number]."),
            ("4111111111111111", "[card_number]"),
            ("4111-1111-1111-1112", "4111-1111-1111-1112"),
            ("Four one one one, one one one one, 1111 one one one one, thanks", "[card_number], thanks"),
            ("forty-one eleven eleven eleven eleven eleven eleven eleven", "[card_number]"),
            ("four triple one double one double one double one double one double one double one.", "[card_number]."),
            ("4111. 1111. 1111. 1111. It expires 12 25.", "[card_number]. It expires 12 25."),
            ("3782 822463 10005 or 5555 5555 5555 4444", "[card_number] or [card_number]"),
            ("\u{664}\u{661}\u{661}\u{661}1111 1111 1111", "[card_number]"),
            ("0000 0000 0000 0000 and 10:30 on 2026-11-21", "0000 0000 0000 0000 and 10:30 on 2026-11-21"),
        ],
    );
}

#[test]
fn phone_numbers_are_seven_to_fifteen_digits_and_no_date() {
    check(
        Redact::PhoneNumbers,
        &[
            ("Call +1 (202) 555-0100 today", "Call [phone_number] today"),
            ("Call (202) 555-0100 today", "Call [phone_number] today"),
            ("two oh two, five five five, oh one double zero", "[phone_number]"),
            ("one eight hundred 555 dash 0199", "[phone_number]"),
            ("020 7946 0000, 020 7946 0001", "[phone_number], [phone_number]"),
            ("on 2026-11-21 at 10:30 for 4", "on 2026-11-21 at 10:30 for 4"),
            ("room 1234, oh dear", "room 1234, oh dear"),
        ],
    );
}

#[test]
fn addresses_are_found_as_they_are_written_and_as_they_are_spelled() {
    check(
        Redact::EmailAddresses,
        &[
            ("Write to Ana.Li+x@mail.example.com.", "Write to [email_address]."),
            ("ana dot li at gmail dot com, please", "[email_address], please"),
            ("it is ana at mail.example dot org", "it is [email_address]"),
            ("josé@exämple.de and a@b", "[email_address] and a@b"),
            ("We open at ten. See you at noon", "We open at ten. See you at noon"),
            ("@ at dot com @x.", "@ at dot com @x."),
        ],
    );
}

#[test]
fn four_digits_that_stand_together_are_taken_out_and_three_are_not() {
    check(
        Redact::Digits,
        &[
            ("My code is 12 34.", "My code is [digits]."),
            ("nineteen eighty four", "[digits]"),
            ("A1234B, 123 and four five six", "A[digits]B, 123 and four five six"),
            ("one of the two at ten for twenty", "one of the two at ten for twenty"),
        ],
    );
}

#[test]
fn keys_are_taken_out_where_they_stand_and_where_they_are_repeated() {
    check(
        Redact::Dtmf,
        &[("My pin: [keys] 1234 5* Thanks 99", "My pin: [keys] [dtmf] Thanks 99"), ("[keys]", "[keys]")],
    );
    let said = "It is [keys] 4711 #";
    assert_eq!(pressed_in(said), ["4711", "#"]);
    let redactor = Redactor::new(&[Redact::Dtmf]).knowing(pressed_in(said));
    assert_eq!(redactor.text("They typed 4 7 1 1, not 4712, at 11."), "They typed [dtmf], not 4712, at 11.");
    assert_eq!(Redactor::new(&[]).text(said), said, "nothing is taken out unasked");
}

#[test]
fn results_lose_numbers_too_and_keep_their_shape() {
    let redactor = Redactor::new(&[Redact::PhoneNumbers]);
    let outcome = json!({ "phone": 12_025_550_100_i64, "people": 4, "note": ["call 202-555-0100", null], "rate": 0.5 });
    let expected =
        json!({ "phone": "[phone_number]", "people": 4, "note": ["call [phone_number]", null], "rate": 0.5 });
    assert_eq!(redactor.json(outcome), expected);
}

/// Returns `text` without any mark.
fn without_marks(text: &str) -> String {
    ALL.iter().fold(text.to_owned(), |text, kind| text.replace(kind.mark(), "\u{1}")).replace('\u{1}', "")
}

fn is_part_of(part: &str, whole: &str) -> bool {
    let mut rest = whole.chars();
    part.chars().all(|c| rest.any(|other| other == c))
}

proptest! {
    #[test]
    fn what_is_left_was_there_and_stays_as_it_is(
        words in proptest::collection::vec(
            prop_oneof![
                "[0-9]{1,6}", "[ ,.()@+-]{1,3}", "(one|oh|double|forty|hundred| at | dot |com|a)", "\\[keys\\] ", "\\PC{0,3}",
            ],
            0..40,
        ),
        spaced in any::<bool>(),
        mask in 0_usize..32,
    ) {
        let text = words.join(if spaced { " " } else { "" });
        let kinds: Vec<_> = ALL.iter().enumerate().filter(|(i, _)| mask >> i & 1 == 1).map(|(_, kind)| *kind).collect();
        let redactor = Redactor::new(&kinds).knowing(pressed_in(&text));
        let once = redactor.text(&text);
        prop_assert_eq!(&redactor.text(&once), &once, "again changes nothing");
        prop_assert!(is_part_of(&without_marks(&once), &text), "nothing but marks is added");
        if kinds.contains(&Redact::Digits) {
            let mut together = 0;
            for c in once.chars() {
                together = if c.is_ascii_digit() { together + 1 } else { 0 };
                prop_assert!(together < 4, "four digits are left in {once}");
            }
        }
    }

    #[test]
    fn a_card_number_is_found_whatever_is_around_it(
        begin in "[0-9]{12,17}",
        gap in 1_usize..5,
        before in "[a-zA-Z .,!?]{0,20}",
        after in "[a-zA-Z .,!?]{0,20}",
    ) {
        let check = (0..10).map(|digit| format!("{begin}{digit}")).find(|number| luhn_sum(number).is_multiple_of(10));
        let number = check.expect("one of ten digits fits");
        prop_assume!(luhn_sum(&number) > 0);
        let digits: Vec<_> = number.chars().collect();
        let grouped: Vec<_> = digits.chunks(gap).map(String::from_iter).collect();
        let text = format!("{before}: {} ;{after}", grouped.join(" "));
        let left = Redactor::new(&[Redact::CardNumbers]).text(&text);
        prop_assert!(left.contains("[card_number]"), "{left}");
        prop_assert!(left.chars().filter(char::is_ascii_digit).count() < 13, "{left}");
    }
}

/// Computes the Luhn sum as the standard describes it: double every second digit from the right, and add the digits of the results.
fn luhn_sum(number: &str) -> u32 {
    let digits = number.bytes().rev().map(|byte| u32::from(byte - b'0'));
    digits.enumerate().map(|(i, digit)| if i % 2 == 0 { digit } else { digit * 2 / 10 + digit * 2 % 10 }).sum()
}
