//! Damages valid messages: their sequence, their structure if they are JSON, and their bytes.

use proptest::prelude::{Just, Strategy, any};
use proptest::sample::{Index, select};
use proptest::{collection, prop_oneof};

use super::Dialogue;
use super::json::Json;

/// Numbers at boundaries.
const NUMBERS: [&str; 20] = [
    "0",
    "-0",
    "-1",
    "1",
    "0.5",
    "1e-400",
    "1e308",
    "-1e308",
    "1e999",
    "255",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "253402300800",
];
/// The number that makes sums overflow.
const LARGEST: &str = "18446744073709551615";
/// Values of other types.
const TYPES: [&str; 9] = ["null", "true", "false", "0", "\"\"", "[]", "{}", "[[]]", "{\"\":null}"];
/// Texts at boundaries, and text that is not JSON.
const TEXTS: [&str; 24] = [
    "",
    " ",
    "\0",
    "\u{1f9d1}\u{200d}\u{1f9b0}",
    "\u{feff}",
    "\u{202e}",
    "ß",
    "İ",
    "{",
    "{}",
    "null",
    "-1",
    "1e309",
    "NaN",
    "+",
    "+99999999999999999999",
    "2026-13-45T99:99:99Z",
    "%zz",
    "%00",
    "..",
    "=",
    "\r\n\r\n",
    "<think>",
    "data:",
];
const NO_JSON: [&str; 4] = ["\"\\ud800\"", "\"\\u0000\"", "NaN", "01"];
/// Bytes with a special meaning in some format.
const PIECES: [&[u8]; 16] = [
    b"\0",
    b"\"",
    b"{",
    b"}",
    b"[",
    b"\\",
    b"\n",
    b"\r\n\r\n",
    b"&",
    b"=",
    b"%",
    b"\xff\xfe",
    b"\xc3",
    b"\xed\xa0\x80",
    b"data: ",
    b",",
];

/// The edits to the messages of a seed.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    seed: Index,
    edits: Vec<Edit>,
}

/// One edit of one message.
#[derive(Clone, Debug)]
struct Edit {
    message: Index,
    at: Index,
    to: Index,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    /// Edits of the sequence.
    LeaveOut,
    Repeat(usize),
    Swap,
    /// Edits of a value: any, a number, a text.
    Replace(String),
    Number(String),
    Write(String),
    Long(usize),
    Nest(usize),
    Copy,
    /// Edits of the content of a list or an object.
    Remove,
    Double,
    Rename(String),
    /// Edits of bytes.
    Truncate,
    Insert(Vec<u8>),
    Cut,
    Overwrite(u32, usize),
    Flip(u8),
}

pub(super) fn plan() -> impl Strategy<Value = Plan> {
    (any::<Index>(), collection::vec(edit(), 1..6)).prop_map(|(seed, edits)| Plan { seed, edits })
}

fn edit() -> impl Strategy<Value = Edit> {
    let edit = (any::<Index>(), any::<Index>(), any::<Index>(), what());
    edit.prop_map(|(message, at, to, what)| Edit { message, at, to, what })
}

fn what() -> impl Strategy<Value = What> {
    let one_of = |texts: &'static [&'static str]| select(texts).prop_map(str::to_owned);
    let numbers =
        prop_oneof![4 => one_of(&NUMBERS), 3 => one_of(&[LARGEST]), 1 => any::<f64>().prop_map(|any| any.to_string())];
    let values = prop_oneof![numbers.clone(), one_of(&TYPES), one_of(&NO_JSON)];
    let texts = prop_oneof![3 => one_of(&TEXTS), 1 => any::<String>()];
    let extremes = prop_oneof![Just(0), Just(1), Just(u32::MAX), Just(1 << 31), any::<u32>()];
    prop_oneof![
        1 => Just(What::LeaveOut),
        1 => prop_oneof![Just(1_usize), Just(3), Just(200)].prop_map(What::Repeat),
        1 => Just(What::Swap),
        4 => values.prop_map(What::Replace),
        4 => numbers.prop_map(What::Number),
        5 => texts.clone().prop_map(What::Write),
        1 => prop_oneof![Just(300_usize), Just(70_000)].prop_map(What::Long),
        1 => prop_oneof![Just(2_usize), Just(100), Just(127), Just(5_000)].prop_map(What::Nest),
        3 => Just(What::Copy),
        3 => Just(What::Remove),
        2 => Just(What::Double),
        1 => texts.prop_map(What::Rename),
        1 => Just(What::Truncate),
        2 => prop_oneof![
            select(&PIECES[..]).prop_map(<[u8]>::to_vec),
            collection::vec(any::<u8>(), 1..8),
        ].prop_map(What::Insert),
        1 => Just(What::Cut),
        1 => (extremes, 1_usize..=4).prop_map(|(number, width)| What::Overwrite(number, width)),
        1 => (0_u8..8).prop_map(What::Flip),
    ]
}

impl Plan {
    /// Returns the damaged messages.
    pub(super) fn apply(&self, seeds: &[Dialogue]) -> Dialogue {
        let mut messages = self.seed.get(seeds).clone();
        for edit in &self.edits {
            if messages.is_empty() {
                break;
            }
            edit.apply(&mut messages);
        }
        messages
    }
}

impl Edit {
    fn apply(&self, messages: &mut Dialogue) {
        let at = self.message.index(messages.len());
        match &self.what {
            What::LeaveOut => drop(messages.remove(at)),
            What::Repeat(times) => {
                let message = messages[at].clone();
                messages.splice(at..at, std::iter::repeat_n(message, *times));
            }
            What::Swap => {
                let other = self.at.index(messages.len());
                messages.swap(at, other);
            }
            _ => {
                let whole = Json::read(&messages[at]).and_then(|json| self.to_structure(json));
                messages[at] = whole.unwrap_or_else(|| self.to_bytes(&messages[at]));
            }
        }
    }

    /// Applies the edit to the structure; `None` if this is an edit of bytes.
    fn to_structure(&self, mut json: Json) -> Option<Vec<u8>> {
        let copied = json.clone().nth(self.to.index(json.count())).cloned();
        let places = match &self.what {
            What::Number(_) => json.places(Json::is_number),
            What::Write(_) => json.places(Json::is_text),
            _ => json.places(|_| true),
        };
        let value = json.nth(*self.at.get(&places))?;
        match &self.what {
            What::Replace(raw) | What::Number(raw) => *value = Json::Raw(raw.clone()),
            What::Write(text) => *value = Json::Text(text.clone()),
            What::Long(length) => *value = Json::Text("a".repeat(*length)),
            What::Nest(depth) => {
                let mut inside = String::new();
                value.write(&mut inside);
                *value = Json::Raw(format!("{}{inside}{}", "[".repeat(*depth), "]".repeat(*depth)));
            }
            What::Copy => *value = copied?,
            What::Remove | What::Double | What::Rename(_) => self.to_inside(value),
            _ => return None,
        }
        let mut written = String::new();
        json.write(&mut written);
        Some(written.into_bytes())
    }

    fn to_inside(&self, value: &mut Json) {
        match value {
            Json::List(items) if !items.is_empty() => {
                let at = self.to.index(items.len());
                if matches!(self.what, What::Remove) { drop(items.remove(at)) } else { items.push(items[at].clone()) }
            }
            Json::Object(fields) if !fields.is_empty() => {
                let at = self.to.index(fields.len());
                match &self.what {
                    What::Remove => drop(fields.remove(at)),
                    What::Rename(name) => fields[at].0.clone_from(name),
                    _ => fields.push((fields[at].0.clone(), Json::Raw("null".to_owned()))),
                }
            }
            other => *other = Json::Raw("null".to_owned()),
        }
    }

    fn to_bytes(&self, message: &[u8]) -> Vec<u8> {
        let mut bytes = message.to_vec();
        let at = self.at.index(bytes.len() + 1);
        let to = self.to.index(bytes.len() + 1);
        let (from, to) = (at.min(to), at.max(to));
        match &self.what {
            What::Truncate | What::Remove => bytes.truncate(at),
            What::Cut => drop(bytes.drain(from..to)),
            What::Double | What::Copy => {
                let piece = bytes[from..to].to_vec();
                bytes.splice(at..at, piece);
            }
            What::Flip(bit) => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << bit;
                }
            }
            What::Overwrite(number, width) => {
                let number = &number.to_le_bytes()[..*width];
                let end = bytes.len().min(at + width);
                bytes.splice(at..end, number.iter().copied());
            }
            What::Insert(piece) => drop(bytes.splice(at..at, piece.iter().copied())),
            What::Replace(text) | What::Number(text) | What::Write(text) | What::Rename(text) => {
                drop(bytes.splice(from..to, text.bytes()));
            }
            What::Long(length) => drop(bytes.splice(at..at, std::iter::repeat_n(b'a', *length))),
            What::Nest(depth) => drop(bytes.splice(at..at, std::iter::repeat_n(b'[', *depth))),
            What::LeaveOut | What::Repeat(_) | What::Swap => {}
        }
        bytes
    }
}
