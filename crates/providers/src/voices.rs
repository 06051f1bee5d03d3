//! The voices of text to speech: requested from providers that list them, else from a built-in list.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response};
use serde::Serialize;
use serde_json::Value;
use switchhook_core::private::Private;
use switchhook_net::lenient_json;
use switchhook_net::outbound::{explain, unpacked};
use tokio::time::timeout;
use utoipa::ToSchema;

use super::ProviderError;
use super::failure::{AttemptError, classify_response};

/// How long a provider may take to list its voices.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// The longest response that is read, in bytes.
const MAX_BYTES: usize = 4 << 20;
/// The most voices in a list.
const MAX_VOICES: usize = 500;
/// The most text in a list, in bytes; lists are cached for a while.
const MAX_TEXT: usize = 256 << 10;

/// A voice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct Voice {
    /// The value of an agent's `tts.voice`.
    #[schema(example = "aura-2-thalia-en")]
    pub voice: String,
    /// Its name.
    #[schema(example = "Thalia")]
    pub name: String,
    /// Languages as BCP 47 tags; empty if it speaks all languages of its model.
    #[schema(example = json!(["en"]))]
    pub languages: Vec<String>,
    /// The provider's description.
    pub description: Option<String>,
    /// Whether it is the default voice.
    pub default: bool,
}

/// The voices of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct VoiceList {
    /// The voices.
    pub data: Vec<Voice>,
    /// Whether the list is complete.
    pub complete: bool,
}

/// Lists the voices of a connection.
#[async_trait]
pub trait Voices: Send + Sync {
    /// Returns the voices.
    ///
    /// # Errors
    /// When the provider cannot be reached or refuses.
    async fn list(&self) -> Result<VoiceList, ProviderError>;

    /// Returns whether this voice may exist, as far as that is known without a request.
    fn may_have(&self, _voice: &str) -> bool {
        true
    }
}

/// A built-in list.
#[async_trait]
impl Voices for VoiceList {
    async fn list(&self) -> Result<VoiceList, ProviderError> {
        Ok(self.clone())
    }

    fn may_have(&self, voice: &str) -> bool {
        !self.complete || self.data.iter().any(|known| known.voice == voice)
    }
}

impl VoiceList {
    /// Creates a list of `voices` and marks `default` among them.
    pub(super) fn of(voices: impl IntoIterator<Item = Voice>, complete: bool, default: &str) -> Arc<dyn Voices> {
        Arc::new(Self { data: voices.into_iter().collect(), complete }.with_default(default))
    }

    /// Drops the voices that exceed the limits.
    fn cut(&mut self) {
        let mut bytes = 0;
        let fits = |voice: &&Voice| {
            bytes += voice.bytes();
            bytes <= MAX_TEXT
        };
        let fitting = self.data.iter().take(MAX_VOICES).take_while(fits).count();
        self.complete &= fitting == self.data.len();
        self.data.truncate(fitting);
    }

    /// Marks the voice of agents that name none; adds it if it is missing from the list, as the connection's own voices may be.
    fn with_default(mut self, default: &str) -> Self {
        match self.data.iter_mut().find(|voice| voice.voice == default) {
            Some(voice) => voice.default = true,
            None => self.data.insert(0, Voice { default: true, ..Voice::new(default, default, &[]) }),
        }
        self
    }
}

impl Voice {
    pub(super) fn new(voice: &str, name: &str, languages: &[&str]) -> Self {
        let languages = languages.iter().map(|tag| (*tag).to_owned()).collect();
        Self { voice: voice.to_owned(), name: name.to_owned(), languages, ..Self::default() }
    }

    /// Returns its approximate size in memory.
    fn bytes(&self) -> usize {
        let languages: usize = self.languages.iter().map(|tag| size_of::<String>() + tag.len()).sum();
        let description = self.description.as_ref().map_or(0, String::len);
        size_of::<Self>() + self.voice.len() + self.name.len() + languages + description
    }
}

/// Voices that the provider lists on request.
pub(super) struct AskedVoices {
    pub(super) provider: &'static str,
    pub(super) http: Client,
    pub(super) url: String,
    pub(super) key: Option<Private<String>>,
    /// The header of the key, and the prefix of its value.
    pub(super) key_header: (HeaderName, &'static str),
    /// Further headers.
    pub(super) headers: HeaderMap,
    /// Parses a response; it may contain more voices than are shown.
    pub(super) read: fn(&Value) -> VoiceList,
    pub(super) default: String,
}

#[async_trait]
impl Voices for AskedVoices {
    async fn list(&self) -> Result<VoiceList, ProviderError> {
        let listed = timeout(TIME_LIMIT, self.ask()).await;
        let listed = listed.unwrap_or_else(|_| Err(AttemptError::timeout(self.provider, TIME_LIMIT)));
        Ok(listed.map_err(|failure| failure.error)?.with_default(&self.default))
    }
}

impl AskedVoices {
    async fn ask(&self) -> Result<VoiceList, AttemptError> {
        let mut request = self.http.get(&self.url).headers(self.headers.clone());
        if let Some(key) = &self.key {
            let (name, before) = &self.key_header;
            let mut value = HeaderValue::from_str(&format!("{before}{}", key.reveal())).map_err(|_| {
                AttemptError::config(
                    self.provider,
                    "credentials.api_key has characters that no header takes".to_owned(),
                )
            })?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        let unanswered = |error: &reqwest::Error| AttemptError::unanswered(self.provider, explain(error, TIME_LIMIT));
        let response = request.send().await.map(unpacked).map_err(|error| unanswered(&error))?;
        let (status, headers, url) = (response.status(), response.headers().clone(), response.url().clone());
        let body = whole(response).await.map_err(|error| unanswered(&error))?;
        if !status.is_success() {
            let classified = classify_response(status.as_u16(), &headers, &String::from_utf8_lossy(&body));
            let key = self.key.as_ref();
            return Err(AttemptError::from_classified(self.provider, classified.at_url(&url), key, TIME_LIMIT));
        }
        read_list(&body, self.read).map_err(|_| AttemptError::unusable(self.provider, "its list of voices is not JSON"))
    }
}

/// Reads a response, of which no more voices are kept than fit.
///
/// # Errors
/// When it is not JSON.
pub(crate) fn read_list(body: &[u8], read: fn(&Value) -> VoiceList) -> serde_json::Result<VoiceList> {
    let mut list = read(&lenient_json::from_slice(body)?);
    list.cut();
    Ok(list)
}

/// Reads a body up to the limit; the rest is cut off.
async fn whole(mut response: Response) -> Result<Vec<u8>, reqwest::Error> {
    let mut body = Vec::new();
    while body.len() < MAX_BYTES
        && let Some(piece) = response.chunk().await?
    {
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// Returns the text of a field that is not empty.
pub(super) fn text<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    value.get(field).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_voice_of_agents_that_name_none_is_marked_or_added() {
        let voices = || [Voice::new("a", "A", &["en"]), Voice::new("b", "B", &[])];
        let defaults = async |default: &str| {
            let list = VoiceList::of(voices(), true, default).list().await.expect("it stands here");
            list.data.into_iter().map(|voice| (voice.voice, voice.default)).collect::<Vec<_>>()
        };
        assert_eq!(defaults("b").await, [("a".to_owned(), false), ("b".to_owned(), true)]);
        assert_eq!(defaults("own").await[0], ("own".to_owned(), true));
        assert_eq!(defaults("own").await.len(), 3);
    }

    #[test]
    fn of_a_list_that_is_too_long_the_beginning_is_kept() {
        let cut = |voices: usize, description: usize| {
            let voice = Voice { description: Some("x".repeat(description)), ..Voice::new("a", "A", &["en"]) };
            let mut list = VoiceList { data: vec![voice; voices], complete: true };
            list.cut();
            (list.data.len(), list.complete)
        };
        assert_eq!(cut(500, 100), (500, true));
        assert_eq!(cut(501, 100), (500, false));
        let (kept, complete) = cut(500, 10_000);
        assert!(kept > 20 && kept <= MAX_TEXT / 10_000 && !complete, "{kept}");
        assert_eq!(cut(1, MAX_TEXT), (0, false));
    }
}
