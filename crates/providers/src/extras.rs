//! `settings.headers` and `settings.query`: additions to every request to a server.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Map, Value};
use switchhook_core::header::is_framing;
use url::Url;

/// Headers that settings must not override.
const OWN_HEADERS: [&str; 4] = ["authorization", "content-type", "x-api-key", "x-goog-api-key"];

/// Additional headers and query parameters of every request of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extras {
    headers: HeaderMap,
    query: Vec<(String, String)>,
}

impl Extras {
    /// Reads both settings.
    ///
    /// # Errors
    /// A sentence that names the setting and says what is wrong with it.
    pub(crate) fn read(settings: &Map<String, Value>) -> Result<Self, String> {
        Ok(Self { headers: headers(&texts(settings, "headers")?)?, query: texts(settings, "query")? })
    }

    /// Builds a `POST` request to `url` with them.
    pub(crate) fn post(&self, http: &Client, url: &str) -> RequestBuilder {
        self.request(http, Method::POST, url)
    }

    /// Builds a request to `url` with them.
    pub(crate) fn request(&self, http: &Client, method: Method, url: &str) -> RequestBuilder {
        let request = match Url::parse(url) {
            Ok(mut url) => {
                self.add_query(&mut url);
                http.request(method, url)
            }
            // An invalid URL is reported when the request is sent.
            Err(_) => http.request(method, url),
        };
        request.headers(self.headers.clone())
    }

    /// Adds them to the handshake of a websocket.
    pub(crate) fn add(&self, url: &mut Url, headers: &mut HeaderMap) {
        self.add_query(url);
        headers.extend(self.headers.clone());
    }

    fn add_query(&self, url: &mut Url) {
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
    }
}

/// Returns a setting that must be an object, if it is present.
pub(crate) fn object<'s>(
    settings: &'s Map<String, Value>,
    name: &str,
) -> Result<Option<&'s Map<String, Value>>, String> {
    match settings.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(fields)) => Ok(Some(fields)),
        Some(_) => Err(format!("settings.{name} must be an object.")),
    }
}

/// Returns the fields of an object of texts.
fn texts(settings: &Map<String, Value>, name: &str) -> Result<Vec<(String, String)>, String> {
    let fields = object(settings, name)?.into_iter().flatten();
    fields
        .map(|(key, value)| match value {
            Value::String(text) => Ok((key.clone(), text.clone())),
            _ => Err(format!("settings.{name}.{key} must be a string.")),
        })
        .collect()
}

fn headers(texts: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in texts {
        if OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) {
            return Err(format!("settings.headers must not contain {name}; secrets belong into credentials.api_key."));
        }
        if is_framing(name) {
            // Stored before such headers were refused.
            tracing::warn!(header = name, "a header of a connection frames or routes requests and is left out of them");
            continue;
        }
        let parsed = name.parse::<HeaderName>().ok().zip(HeaderValue::from_str(value).ok());
        let (name, value) = parsed.ok_or_else(|| format!("settings.headers.{name} is no HTTP header."))?;
        headers.insert(name, value);
    }
    Ok(headers)
}
