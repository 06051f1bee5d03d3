//! Pairs of written and spoken text.

use super::*;

fn said(text: &str) -> String {
    let units = normalise(text);
    assert_eq!(
        units.iter().map(|unit| unit.written.as_str()).collect::<Vec<_>>().join(" "),
        text.split_whitespace().collect::<Vec<_>>().join(" "),
        "no written word may be lost"
    );
    units.into_iter().map(|unit| unit.spoken).filter(|spoken| !spoken.is_empty()).collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(table: &[(&str, &str)]) {
    for (written, expected) in table {
        assert_eq!(said(written), *expected, "from {written:?}");
    }
}

#[test]
fn keys_are_said_by_their_names() {
    check(&[
        ("Dial *67 first.", "Dial star six seven first."),
        ("Press * or *0#.", "Press star or star zero pound."),
        ("2 * 3 is 6", "two times three is six"),
    ]);
}

#[test]
fn telephone_numbers_are_said_in_groups_of_digits() {
    check(&[
        ("Call 555-0142.", "Call five five five, oh one four two."),
        ("It is (415) 555-0142, right?", "It is four one five, five five five, oh one four two, right?"),
        ("+1 415 555 0142", "plus one, four one five, five five five, oh one four two"),
        ("+14155550142", "plus one, four one five, five five five, oh one four two"),
        ("4155550142", "four one five, five five five, oh one four two"),
        ("1-800-555-0199", "one, eight hundred, five five five, oh one nine nine"),
        ("+442071838750", "plus four four two, oh seven one, eight three eight, seven five oh"),
        ("(in 2026)", "in twenty twenty-six"),
    ]);
}

#[test]
fn codes_are_said_sign_by_sign_and_quantities_are_not() {
    check(&[
        ("Code 483920.", "Code four eight three, nine two zero."),
        ("Your code is A1B2.", "Your code is A one B two."),
        ("flight XK-4471", "flight X K, four four seven one"),
        ("PIN 0042", "PIN zero zero four two"),
        ("extension 12", "extension one two"),
        ("order #48213", "order four eight two, one three"),
        ("You are #5 of 120.", "You are number five of one hundred twenty."),
        ("1,250 people", "one thousand two hundred fifty people"),
        ("S-M-I-T-H", "S, M, I, T, H"),
        ("Spell it: S M I T H.", "Spell it: S M I T H."),
        ("COVID-19 and e-mail", "COVID-19 and e-mail"),
    ]);
    assert!(normalise("A B C").iter().all(|unit| unit.letters));
    assert!(!normalise("A plan").iter().any(|unit| unit.letters));
}

#[test]
fn times_and_dates_are_said_as_people_say_them() {
    check(&[
        ("at 7:30 pm.", "at seven thirty P M."),
        ("at 7pm today", "at seven P M today"),
        ("at 7 p.m. today", "at seven P M today"),
        ("at 10:00.", "at ten o'clock."),
        ("at 12:05", "at twelve oh five"),
        ("at 19:30", "at nineteen thirty"),
        ("open 9am-5pm", "open nine A M to five P M"),
        ("open 9-5", "open nine to five"),
        ("on March 14th, please", "on March fourteenth, please"),
        ("on March 14, 2026.", "on March fourteenth, twenty twenty-six."),
        ("on Mar. 3", "on March third"),
        ("on 14 March 2026", "on March fourteenth, twenty twenty-six"),
        ("by 2026-11-21", "by November twenty-first, twenty twenty-six"),
        ("by 3/14/2026", "by March fourteenth, twenty twenty-six"),
        ("on 3/14", "on March fourteenth"),
        ("in 1999", "in nineteen ninety-nine"),
        ("the 22nd", "the twenty-second"),
        ("you may 2 of us", "you may two of us"),
    ]);
}

#[test]
fn money_and_measures_are_said_with_their_units() {
    check(&[
        ("$45.50", "forty-five dollars and fifty cents"),
        ("$1,200.", "one thousand two hundred dollars."),
        ("$1", "one dollar"),
        ("$0.99", "ninety-nine cents"),
        ("$3.5 million", "three point five million dollars"),
        ("€20", "twenty euros"),
        ("£1.01", "one pound and one penny"),
        ("50% off", "fifty percent off"),
        ("72°F", "seventy-two degrees Fahrenheit"),
        ("5km", "five kilometers"),
        ("3/4 cup", "three quarters cup"),
        ("-7", "minus seven"),
    ]);
}

#[test]
fn addresses_are_said_in_full() {
    check(&[
        ("123 Oak St.", "one twenty-three Oak Street."),
        ("12 Oak Dr. in town", "twelve Oak Drive in town"),
        ("Dr. Smith on St. Mary's Ave. apt. 5", "Doctor Smith on Saint Mary's Avenue apartment five"),
        ("Mr. and Mrs. Miller vs. the dept. etc.", "Mister and Missus Miller versus the department et cetera."),
        ("room 1450", "room fourteen fifty"),
        ("sarah.miller@example.com", "sarah dot miller at example dot com"),
        ("jo_42@example.org.", "jo underscore four two at example dot org."),
        ("see www.example.com/help!", "see W W W dot example dot com slash help!"),
        ("https://example.com/", "example dot com"),
        ("No. 5 & no.", "number five and no."),
    ]);
}

#[test]
fn decoration_and_pictures_are_not_said() {
    check(&[
        ("**Great** news 👋 — it's \"done\"!", "Great news , it's done!"),
        ("and/or his/her", "and or his or her"),
        ("it’s (really) fine…", "it's really fine…"),
        ("wait--what", "wait, what"),
    ]);
}

proptest::proptest! {
    #[test]
    fn any_text_can_be_said_and_no_word_is_lost(text in "\\PC{0,60}") {
        said(&text);
    }

    #[test]
    fn any_digits_and_signs_can_be_said(text in "[0-9:/$%#.,+() -]{0,30}") {
        said(&text);
    }
}
