//! The identity provider: where people sign in, and what it vouches for. OpenID Connect Core 1.0, code flow with PKCE.

#[cfg(test)]
pub(crate) mod fuzz;
mod loose;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::DateTime;
use futures_util::future::BoxFuture;
use openidconnect::core::{
    CoreAuthenticationFlow, CoreClient, CoreClientAuthMethod, CoreIdTokenClaims, CoreJwsSigningAlgorithm,
    CoreProviderMetadata, CoreUserInfoClaims,
};
use openidconnect::{
    AuthType, AuthorizationCode, ClientId, ClientSecret, CsrfToken, DiscoveryError, EndUserName, HttpRequest,
    HttpResponse, IssuerUrl, LocalizedClaim, Nonce, OAuth2TokenResponse as _, PkceCodeChallenge, PkceCodeVerifier,
    RedirectUrl, RequestTokenError, Scope, TokenResponse as _, UserInfoError,
};
use switchhook_core::Timestamp;
use switchhook_core::webhook::AddressPolicy;
use switchhook_net::outbound::{Client, Request, SendError};
use switchhook_net::text::{content_type, text};
use switchhook_runtime::clock::{Clock, SteadyClock};
use tokio::sync::{OnceCell, Semaphore, watch};
use tokio::time::{Instant, timeout};
use url::Url;

use self::loose::Document;
use super::SignInError;
use super::identity::Identity;
use crate::config::{Config, OidcSettings, is_confidential};
use crate::telemetry::Seldom;

/// Time limit of one request to the provider; several make a sign-in, which has 30 s.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(8);
/// Maximum bytes of a response. Key sets of large providers have some 20 kB.
const MAX_RESPONSE: usize = 512 * 1024;
/// How long a discovery is shared. The provider's metadata is read for almost every sign-in, so that an unavailable provider is noticed
/// before people are sent there; only a burst of sign-ins shares it, or its failure.
const DISCOVERY_SHARED_FOR: Duration = Duration::from_secs(5);
/// Codes that are exchanged at once, so that invented ones do not flood the provider with our secret.
const EXCHANGES: usize = 20;
/// How long a code waits for its exchange to begin.
const EXCHANGE_WAIT: Duration = Duration::from_secs(3);

/// The warning of a user info endpoint that leaves an address unverified.
static UNVERIFIED: Seldom = Seldom::new();

/// Accepted signatures of ID tokens. All are asymmetric: `none` proves nothing, and anyone with a shared secret can sign.
const SIGNATURES: [CoreJwsSigningAlgorithm; 9] = [
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha384,
    CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha512,
    CoreJwsSigningAlgorithm::RsaSsaPssSha256,
    CoreJwsSigningAlgorithm::RsaSsaPssSha384,
    CoreJwsSigningAlgorithm::RsaSsaPssSha512,
    CoreJwsSigningAlgorithm::EcdsaP256Sha256,
    CoreJwsSigningAlgorithm::EcdsaP384Sha384,
    CoreJwsSigningAlgorithm::EdDsa,
];

/// The configured identity provider.
pub struct Provider {
    settings: OidcSettings,
    config: Arc<Config>,
    clock: Clock,
    /// The clock of discoveries.
    steady: SteadyClock,
    /// The redirect URI for the provider.
    redirect: String,
    /// Made by the first sign-in.
    http: OnceCell<Client>,
    /// The latest; at most one is under way.
    discovery: Mutex<Option<Discovery>>,
    exchanges: Semaphore,
}

/// A look at what the provider publishes; `None` while it is under way.
type Discovery = watch::Receiver<Option<Found>>;

/// The outcome of a discovery.
#[derive(Clone)]
struct Found {
    outcome: Result<CoreProviderMetadata, String>,
    at: Timestamp,
}

/// The secrets that bind the request for a code to its exchange.
pub struct Challenge {
    /// Returned with the code.
    pub state: String,
    /// Returned in the ID token.
    pub nonce: String,
    /// Proves that the code is exchanged by the client that requested it.
    pub verifier: String,
}

impl Provider {
    /// Creates the provider of `settings`; `public_url` is this service's address.
    #[must_use]
    pub fn new(settings: OidcSettings, config: Arc<Config>, clock: Clock, public_url: &str) -> Self {
        let redirect = format!("{public_url}/auth/callback");
        let (exchanges, steady) = (Semaphore::new(EXCHANGES), clock.steady());
        Self {
            settings,
            config,
            clock,
            steady,
            redirect,
            http: OnceCell::new(),
            discovery: Mutex::default(),
            exchanges,
        }
    }

    /// Its settings.
    #[must_use]
    pub fn settings(&self) -> &OidcSettings {
        &self.settings
    }

    /// Returns the URL to which a browser is sent to sign in.
    ///
    /// # Errors
    /// If the provider is down or publishes nothing usable.
    pub async fn authorization_url(&self, challenge: &Challenge) -> Result<Url, SignInError> {
        let metadata = self.find().await?;
        let client =
            CoreClient::from_provider_metadata(metadata, self.client_id(), None).set_redirect_uri(self.redirect()?);
        let (state, nonce) = (CsrfToken::new(challenge.state.clone()), Nonce::new(challenge.nonce.clone()));
        let verifier = PkceCodeVerifier::new(challenge.verifier.clone());
        let scopes = self.settings.scopes.iter().filter(|scope| *scope != "openid").cloned().map(Scope::new);
        let (url, ..) = client
            .authorize_url(CoreAuthenticationFlow::AuthorizationCode, move || state, move || nonce)
            .add_scopes(scopes)
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier))
            .url();
        Ok(url)
    }

    /// Exchanges a code for the identity that the provider vouches for.
    ///
    /// # Errors
    /// If the provider is down, refuses the code, or vouches for nothing that holds; or while too many codes are exchanged.
    pub async fn identify(&self, code: String, challenge: &Challenge) -> Result<Identity, SignInError> {
        let metadata = self.find().await?;
        let place = timeout(EXCHANGE_WAIT, self.exchanges.acquire()).await;
        let _place = place.ok().and_then(Result::ok).ok_or(SignInError::Busy)?;
        self.redeem(&exchange(self.http().await?), metadata, code, challenge).await
    }

    /// Exchanges a code with the provider of `metadata`.
    async fn redeem(
        &self,
        http: &impl Exchange,
        metadata: CoreProviderMetadata,
        code: String,
        challenge: &Challenge,
    ) -> Result<Identity, SignInError> {
        let by = auth_type(&metadata);
        let secret = self.settings.client_secret.as_ref().map(|secret| ClientSecret::new(secret.reveal().clone()));
        let client = CoreClient::from_provider_metadata(metadata, self.client_id(), secret)
            .set_redirect_uri(self.redirect()?)
            .set_auth_type(by);
        let tokens = client
            .exchange_code(AuthorizationCode::new(code))
            .map_err(|_| SignInError::Provider("it publishes no token endpoint".to_owned()))?
            .set_pkce_verifier(PkceCodeVerifier::new(challenge.verifier.clone()))
            .request_async(http)
            .await
            .map_err(refused_code)?;
        let now = self.clock.now();
        let verifier = client
            .id_token_verifier()
            .set_allowed_algs(SIGNATURES)
            // `is_issued_to` decides on several audiences.
            .set_other_audience_verifier_fn(|_| true)
            .set_time_fn(move || DateTime::from_timestamp_micros(now.as_micros()).unwrap_or(DateTime::UNIX_EPOCH));
        let token = tokens.id_token().ok_or_else(|| SignInError::refused("it sent no ID token"))?;
        let claims = token
            .claims(&verifier, &Nonce::new(challenge.nonce.clone()))
            .map_err(|error| SignInError::Refused(format!("its ID token does not hold: {error}")))?;
        if !is_issued_to(&self.client_id(), claims) {
            return Err(SignInError::refused(
                "its ID token is also for others, and its azp is not this service's client id",
            ));
        }
        let mut identity = Identity {
            issuer: self.settings.issuer.clone(),
            subject: claims.subject().to_string(),
            email: claims.email().map(|email| email.to_string()),
            email_verified: claims.email_verified() == Some(true),
            name: default_name(claims.name()),
        };
        // An explicit `false` is final; of an address alone it is not known whether it was verified.
        let has_address_alone = claims.email().is_some() && claims.email_verified().is_none();
        if (identity.email.is_none() || has_address_alone) && client.user_info_url().is_some() {
            // Providers that keep to the letter of section 5.4 return these claims here only.
            let request = client.user_info(tokens.access_token().clone(), Some(claims.subject().clone()));
            let request = request.map_err(|error| SignInError::Provider(error.to_string()))?;
            let sent: Result<CoreUserInfoClaims, _> = request.request_async(http).await;
            match sent.map_err(no_claims) {
                Ok(claims) => complete(&mut identity, &claims),
                // The token holds without these claims; its address stays unverified.
                Err(error) if has_address_alone => warn_of_user_info(&error),
                Err(error) => return Err(error),
            }
        }
        identity.checked()
    }

    /// Reads what the provider publishes.
    ///
    /// # Errors
    /// If it is down or publishes nothing usable.
    pub async fn check(&self) -> Result<(), SignInError> {
        let metadata = self.find().await?;
        if metadata.id_token_signing_alg_values_supported().iter().any(|algorithm| SIGNATURES.contains(algorithm)) {
            return Ok(());
        }
        Err(SignInError::Provider("it signs ID tokens with no algorithm that can be verified".to_owned()))
    }

    /// Returns what the provider publishes.
    async fn find(&self) -> Result<CoreProviderMetadata, SignInError> {
        let mut discovery = self.discovery(self.http().await?);
        let found = discovery.wait_for(Option::is_some).await.ok().and_then(|found| found.clone());
        // Without an outcome it has panicked.
        let outcome = found.map_or_else(|| Err("its discovery was abandoned".to_owned()), |found| found.outcome);
        outcome.map_err(SignInError::Provider)
    }

    /// Returns the discovery in flight or a recent one, else begins one. It continues when the client that waits for it disconnects, so
    /// that disconnecting does not start one after another.
    fn discovery(&self, http: &Client) -> Discovery {
        let now = self.steady.now();
        // The state is consistent at every step.
        let mut latest = self.discovery.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(current) = latest.as_ref().filter(|latest| is_current(latest, now)) {
            return current.clone();
        }
        let (found, discovery) = watch::channel(None);
        let (http, issuer, clock) = (http.clone(), self.settings.issuer.clone(), self.steady.clone());
        tokio::spawn(async move {
            let outcome = discover(&exchange(&http), issuer).await;
            found.send_replace(Some(Found { outcome, at: clock.now() }));
        });
        latest.insert(discovery).clone()
    }

    async fn http(&self) -> Result<&Client, SignInError> {
        let make = async || Client::new(&self.config.network(), &chosen_by_the_operator(), REQUEST_TIMEOUT);
        self.http.get_or_try_init(make).await.map_err(|error| SignInError::Provider(format!("{error:#}")))
    }

    fn client_id(&self) -> ClientId {
        ClientId::new(self.settings.client_id.clone())
    }

    fn redirect(&self) -> Result<RedirectUrl, SignInError> {
        RedirectUrl::new(self.redirect.clone()).map_err(|error| SignInError::Provider(error.to_string()))
    }
}

/// Returns whether an ID token that has this client among its audiences was issued to it (Core, section 3.1.3.7, items 3 to 5). A token with
/// other audiences may have been issued to one of them, which could sign in here with it; `azp` names the client.
fn is_issued_to(client: &ClientId, claims: &CoreIdTokenClaims) -> bool {
    let has_others = claims.audiences().iter().any(|audience| **audience != **client);
    !has_others || claims.authorized_party() == Some(client)
}

/// Returns the name in no particular language.
fn default_name(names: Option<&LocalizedClaim<EndUserName>>) -> Option<String> {
    names.and_then(|names| names.get(None)).map(|name| name.to_string())
}

/// Takes over the claims of the user info endpoint. Its flag is about its own address, so both are taken or neither.
fn complete(identity: &mut Identity, claims: &CoreUserInfoClaims) {
    if let Some(email) = claims.email() {
        identity.email = Some(email.to_string());
        identity.email_verified = claims.email_verified() == Some(true);
    }
    if identity.name.is_none() {
        identity.name = default_name(claims.name());
    }
}

fn warn_of_user_info(error: &SignInError) {
    if let Some(left_out) = UNVERIFIED.line(Instant::now()) {
        tracing::warn!(%error, left_out, "the user info endpoint failed, so an address stays unverified");
    }
}

/// Returns whether a discovery is in progress, or its outcome recent.
fn is_current(discovery: &Discovery, now: Timestamp) -> bool {
    match &*discovery.borrow() {
        Some(found) => now < found.at + DISCOVERY_SHARED_FOR,
        None => discovery.has_changed().is_ok(),
    }
}

async fn discover(http: &impl Exchange, issuer: String) -> Result<CoreProviderMetadata, String> {
    let issuer = IssuerUrl::new(issuer).map_err(|error| error.to_string())?;
    CoreProviderMetadata::discover_async(issuer, http).await.map_err(unpublished)
}

/// Every address: the operator chose the issuer, and identity providers often live on private networks. [`exchange`] holds them to
/// TLS.
fn chosen_by_the_operator() -> AddressPolicy {
    "0.0.0.0/0,::/0,http".parse().expect("a policy that a test reads")
}

/// Sends the library's requests.
trait Exchange: Fn(HttpRequest) -> BoxFuture<'static, Result<HttpResponse, ExchangeError>> + Send + Sync {}

impl<T> Exchange for T where T: Fn(HttpRequest) -> BoxFuture<'static, Result<HttpResponse, ExchangeError>> + Send + Sync {}

/// Sends requests over our own client, without redirects and with bounds.
fn exchange(http: &Client) -> impl Exchange + use<> {
    let http = http.clone();
    move |request| {
        let http = http.clone();
        Box::pin(async move { send(&http, request).await }) as BoxFuture<'static, _>
    }
}

/// Why the provider's response is missing.
#[derive(Debug, thiserror::Error)]
enum ExchangeError {
    #[error("{0} is not https://")]
    Readable(String),
    #[error("{0}")]
    Send(#[from] SendError),
    #[error("it responds with {0}")]
    Failed(u16),
    #[error("its response is larger than {MAX_RESPONSE} bytes")]
    TooLarge,
    #[error("its response is malformed")]
    Malformed,
}

async fn send(http: &Client, request: HttpRequest) -> Result<HttpResponse, ExchangeError> {
    let document = Document::of(&request);
    let (parts, body) = request.into_parts();
    let url = parts.uri.to_string();
    if !Url::parse(&url).is_ok_and(|url| is_confidential(&url)) {
        return Err(ExchangeError::Readable(url));
    }
    let request =
        Request { method: parts.method, url, headers: parts.headers, body: Some(body).filter(|body| !body.is_empty()) };
    let mut response = http.open(request, REQUEST_TIMEOUT).await?;
    if response.status().is_server_error() {
        return Err(ExchangeError::Failed(response.status().as_u16()));
    }
    let mut answer = openidconnect::http::Response::builder().status(response.status());
    for (name, value) in response.headers() {
        answer = answer.header(name, value);
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = http.more(&mut response, REQUEST_TIMEOUT).await? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_RESPONSE {
            return Err(ExchangeError::TooLarge);
        }
    }
    let text = text(content_type(response.headers()), &bytes);
    // An error has other members.
    let body = if response.status().is_success() { document.read(text) } else { text };
    answer.body(body.into_bytes()).map_err(|_| ExchangeError::Malformed)
}

/// `client_secret_basic`, which is the default, unless the provider only takes the secret in the body.
fn auth_type(metadata: &CoreProviderMetadata) -> AuthType {
    let takes =
        |method| metadata.token_endpoint_auth_methods_supported().is_some_and(|methods| methods.contains(&method));
    let only_body = takes(CoreClientAuthMethod::ClientSecretPost) && !takes(CoreClientAuthMethod::ClientSecretBasic);
    if only_body { AuthType::RequestBody } else { AuthType::BasicAuth }
}

fn unpublished(error: DiscoveryError<ExchangeError>) -> String {
    match error {
        DiscoveryError::Request(error) => error.to_string(),
        DiscoveryError::Response(status, ..) => format!("its discovery document was answered with {status}"),
        DiscoveryError::Parse(error) => format!("its discovery document is invalid: {error}"),
        other => other.to_string(),
    }
}

fn refused_code<T: openidconnect::ErrorResponse>(error: RequestTokenError<ExchangeError, T>) -> SignInError {
    match error {
        // RFC 6749 section 5.2. Its description is left out, because it may repeat what was sent.
        RequestTokenError::ServerResponse(_) => {
            SignInError::refused("it refused the code, or this service's client id and secret")
        }
        RequestTokenError::Request(error) => SignInError::Provider(error.to_string()),
        RequestTokenError::Parse(error, _) => SignInError::Refused(format!("its tokens are invalid: {error}")),
        RequestTokenError::Other(words) => SignInError::Provider(words),
    }
}

fn no_claims(error: UserInfoError<ExchangeError>) -> SignInError {
    match error {
        UserInfoError::Request(error) => SignInError::Provider(error.to_string()),
        UserInfoError::Response(status, ..) => {
            SignInError::Provider(format!("its user info was answered with {status}"))
        }
        other => SignInError::Refused(format!("its user info does not hold: {other}")),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_address_may_be_the_provider() {
        super::chosen_by_the_operator();
    }
}
