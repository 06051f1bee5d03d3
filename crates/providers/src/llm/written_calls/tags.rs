//! Tool calls written as a tag with the name of the tool: `<book><day>Friday</day></book>`.

use serde_json::{Map, Value};

use super::{ARGUMENTS, value_of};

/// A tag at the start of a text.
pub(in crate::llm) enum Tag {
    /// Some other text.
    None,
    /// It may become one.
    Cut,
    /// Its end has not been written.
    Unclosed,
    /// The arguments in it, and its length.
    Whole(Value, usize),
}

/// Reads the tag with the name of a tool at the start of a text.
pub(in crate::llm) fn tag(text: &str, name: &str) -> Tag {
    let Some(behind) = text.strip_prefix('<').and_then(|behind| behind.strip_prefix(name)) else {
        return if format!("<{name}").starts_with(text) { Tag::Cut } else { Tag::None };
    };
    let (attributes, behind) = match attributes(behind) {
        Head::None => return Tag::None,
        Head::Cut(false) => return Tag::Cut,
        Head::Cut(true) => return Tag::Unclosed,
        Head::Whole { attributes, alone: true, behind } => {
            return Tag::Whole(Value::Object(attributes), text.len() - behind.len());
        }
        Head::Whole { attributes, behind, .. } => (attributes, behind),
    };
    let Some((inner, behind)) = behind.split_once(&format!("</{name}>")) else { return Tag::Unclosed };
    Tag::Whole(arguments(inner, attributes), text.len() - behind.len())
}

/// The text after the name of a tag.
enum Head<'t> {
    /// It is no tag.
    None,
    /// It ends in the middle; whether an attribute was complete.
    Cut(bool),
    Whole {
        attributes: Map<String, Value>,
        /// Whether it is closed without content.
        alone: bool,
        behind: &'t str,
    },
}

fn attributes(text: &str) -> Head<'_> {
    let mut attributes = Map::new();
    let mut rest = text;
    loop {
        let trimmed = rest.trim_start();
        if let Some(behind) = trimmed.strip_prefix('>') {
            return Head::Whole { attributes, alone: false, behind };
        }
        if let Some(behind) = trimmed.strip_prefix("/>") {
            return Head::Whole { attributes, alone: true, behind };
        }
        if trimmed.is_empty() || trimmed == "/" {
            return Head::Cut(!attributes.is_empty());
        }
        // The name of the tag ends here.
        if trimmed.len() == rest.len() && attributes.is_empty() {
            return Head::None;
        }
        let name = super::python::name(trimmed);
        let behind = trimmed[name.len()..].trim_start();
        if behind.is_empty() && !name.is_empty() {
            return Head::Cut(!attributes.is_empty());
        }
        let Some(behind) = behind.strip_prefix('=').filter(|_| !name.is_empty()) else { return Head::None };
        let behind = behind.trim_start();
        let Some(quote) = behind.chars().next() else { return Head::Cut(!attributes.is_empty()) };
        if !matches!(quote, '"' | '\'') {
            return Head::None;
        }
        let Some((value, behind)) = behind[1..].split_once(quote) else { return Head::Cut(true) };
        attributes.insert(name.to_owned(), value_of(value));
        rest = behind;
    }
}

/// Reads the arguments in a tag: attributes, JSON, or tags with the parameters' names. Anything else stays text.
fn arguments(inner: &str, mut attributes: Map<String, Value>) -> Value {
    let inner = inner.trim();
    let Some(fields) = fields(inner) else { return Value::String(inner.to_owned()) };
    attributes.extend(fields);
    Value::Object(attributes)
}

fn fields(text: &str) -> Option<Map<String, Value>> {
    if let Ok(Value::Object(fields)) = serde_json::from_str(text) {
        return Some(fields);
    }
    let mut fields = Map::new();
    let mut rest = text.trim();
    while let Some(behind) = rest.strip_prefix('<') {
        let name = super::python::name(behind);
        let behind = behind[name.len()..].strip_prefix('>').filter(|_| !name.is_empty())?;
        let (value, behind) = behind.split_once(&format!("</{name}>"))?;
        let wraps = fields.is_empty() && behind.trim().is_empty() && ARGUMENTS.contains(&name);
        if let Some(inner) = self::fields(value).filter(|inner| wraps && !inner.is_empty()) {
            return Some(inner);
        }
        fields.insert(name.to_owned(), value_of(value));
        rest = behind.trim_start();
    }
    rest.is_empty().then_some(fields)
}
