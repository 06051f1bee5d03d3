//! Numbers as English words.

const ONES: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];
const TENS: [&str; 10] = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
const SCALES: [(u64, &str); 5] = [
    (1_000_000_000_000, "trillion"),
    (1_000_000_000, "billion"),
    (1_000_000, "million"),
    (1_000, "thousand"),
    (100, "hundred"),
];

/// Returns a number in words: 1250 is "one thousand two hundred fifty".
pub(super) fn cardinal(number: u64) -> String {
    if let Some(word) = usize::try_from(number).ok().and_then(|index| ONES.get(index)) {
        return (*word).to_owned();
    }
    if let Some((scale, name)) = SCALES.iter().find(|(scale, _)| number >= *scale) {
        let rest = number % scale;
        let head = format!("{} {name}", cardinal(number / scale));
        return if rest == 0 { head } else { format!("{head} {}", cardinal(rest)) };
    }
    let tens = TENS[usize::try_from(number / 10).unwrap_or(0) % 10];
    if number.is_multiple_of(10) { tens.to_owned() } else { format!("{tens}-{}", cardinal(number % 10)) }
}

/// Returns an ordinal in words: 22 is "twenty-second".
pub(super) fn ordinal(number: u64) -> String {
    let words = cardinal(number);
    let start = words.rfind([' ', '-']).map_or(0, |at| at + 1);
    let (head, last) = words.split_at(start);
    let last = match last {
        "one" => "first".to_owned(),
        "two" => "second".to_owned(),
        "three" => "third".to_owned(),
        "five" => "fifth".to_owned(),
        "eight" => "eighth".to_owned(),
        "nine" => "ninth".to_owned(),
        "twelve" => "twelfth".to_owned(),
        tens if tens.ends_with('y') => format!("{}ieth", &tens[..tens.len() - 1]),
        other => format!("{other}th"),
    };
    format!("{head}{last}")
}

/// Returns a number in pairs, as years, rooms and house numbers are spoken: 1984 is "nineteen eighty-four", 2005 "two thousand five".
pub(super) fn in_pairs(number: u64) -> String {
    match (number / 100, number % 100) {
        (0, _) | (20, 0..10) => cardinal(number),
        (high, 0) if high % 10 == 0 => cardinal(number),
        (high, 0) => format!("{} hundred", cardinal(high)),
        (high, low @ 1..10) => format!("{} oh {}", cardinal(high), cardinal(low)),
        (high, low) => format!("{} {}", cardinal(high), cardinal(low)),
    }
}

/// Returns the digits one by one; `zero` is the word for 0. Other characters are dropped.
pub(super) fn digits(text: &str, zero: &str) -> String {
    let word = |digit: char| match digit.to_digit(10)? {
        0 => Some(zero),
        digit => ONES.get(usize::try_from(digit).ok()?).copied(),
    };
    text.chars().filter_map(word).collect::<Vec<_>>().join(" ")
}

/// Reads "1,250", "3.5" or "-7". `None` for anything else, and for more than fifteen digits.
pub(super) fn plain(text: &str) -> Option<String> {
    if let Some(positive) = text.strip_prefix('-').or_else(|| text.strip_prefix('−')) {
        return Some(format!("minus {}", plain(positive)?));
    }
    match text.split_once('.') {
        Some((whole, fraction)) if is_digits(fraction) => {
            let whole = if whole.is_empty() { 0 } else { whole_number(whole)? };
            Some(format!("{} point {}", cardinal(whole), digits(fraction, "zero")))
        }
        Some(_) => None,
        None => whole_number(text).map(cardinal),
    }
}

/// Parses "1250" or "1,250".
pub(super) fn whole_number(text: &str) -> Option<u64> {
    let mut groups = text.split(',');
    let first = groups.next()?;
    let rest: Vec<&str> = groups.collect();
    let grouped = first.len() <= 3 && rest.iter().all(|group| group.len() == 3 && is_digits(group));
    if !is_digits(first) || !(rest.is_empty() || grouped) {
        return None;
    }
    let number = text.replace(',', "");
    (number.len() <= 15).then(|| number.parse().ok())?
}

/// Returns whether the text consists of digits, at least one.
pub(super) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_read_them() {
        let table: [(String, &str); 17] = [
            (cardinal(0), "zero"),
            (cardinal(40), "forty"),
            (cardinal(1_250), "one thousand two hundred fifty"),
            (cardinal(3_000_021), "three million twenty-one"),
            (ordinal(1), "first"),
            (ordinal(12), "twelfth"),
            (ordinal(20), "twentieth"),
            (ordinal(22), "twenty-second"),
            (ordinal(100), "one hundredth"),
            (in_pairs(1984), "nineteen eighty-four"),
            (in_pairs(1900), "nineteen hundred"),
            (in_pairs(2005), "two thousand five"),
            (in_pairs(2026), "twenty twenty-six"),
            (in_pairs(804), "eight oh four"),
            (digits("40-2", "oh"), "four oh two"),
            (plain("3.50").unwrap(), "three point five zero"),
            (plain("-7").unwrap(), "minus seven"),
        ];
        for (said, expected) in table {
            assert_eq!(said, expected);
        }
        assert_eq!(whole_number("1,25"), None);
        assert_eq!(plain("1.2.3"), None);
        assert_eq!(plain("9999999999999999999999"), None);
    }
}
