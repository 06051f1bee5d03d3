//! Forms as they are sent: the order and the repetition of fields matter.

use url::form_urlencoded;

/// Fields in the order in which they came.
#[derive(Clone, Debug)]
pub(crate) struct Form(pub(crate) Vec<(String, String)>);

impl Form {
    pub(crate) fn parse(body: &[u8]) -> Self {
        Self(form_urlencoded::parse(body).into_owned().collect())
    }

    /// The only value of a field; an error when there are several.
    pub(crate) fn one(&self, name: &str) -> Result<Option<&str>, String> {
        match self.all(name)[..] {
            [] => Ok(None),
            [only] => Ok(Some(only)),
            _ => Err(format!("{name} stands there more than once")),
        }
    }

    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect()
    }

    pub(crate) fn unknown<'a>(&'a self, known: &[&str]) -> Option<&'a str> {
        self.0.iter().map(|(name, _)| name.as_str()).find(|name| !known.contains(name))
    }

    /// As the body of a request.
    pub(crate) fn encode(fields: &[(String, String)]) -> String {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
    }
}
