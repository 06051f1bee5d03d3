//! `/v1/connections/{id}/voices`: which voices there are, and how one sounds.

use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use switchhook_core::agent::{FieldError, is_language_tag};
use switchhook_core::id::ConnectionId;
use switchhook_media::format::AudioFormat;
use switchhook_media::wav;
use switchhook_providers::voices::VoiceList;
use switchhook_providers::{TtsRequest, is_english};
use utoipa::ToSchema;

use super::connection_not_found;
use super::voice_lists::FAILURE_KEPT;
use crate::calls::setup::VoiceError;
use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::ApiError;
use crate::http::extract::{Body, PathId, PathIds, UnreadBody};
use crate::http::response::JsonResponse;
use crate::store::connections::{self, ConnectionRow};

/// Enough for two sentences; each character may be charged.
const MAX_TEXT: usize = 200;
/// Enough for any provider's name of a voice or model.
const MAX_WORD: usize = 200;
/// The default text of a sample.
const TEXT: &str = "Hello, and thank you for calling. How can I help you today?";

/// A voice sample to create.
#[derive(Deserialize, ToSchema)]
pub(super) struct Sample {
    /// Defaults to an English greeting.
    #[schema(min_length = 1, max_length = 200, example = "Good morning, this is Ava.")]
    text: Option<String>,
    /// Language (BCP 47); default `en-US`.
    #[schema(pattern = "^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$", max_length = 35, example = "en-US")]
    language: Option<String>,
    /// Speaking rate; default 1.
    #[schema(minimum = 0.5, maximum = 2.0)]
    speed: Option<f32>,
    /// Model name; defaults to the connection's.
    #[schema(min_length = 1, max_length = 200)]
    model: Option<String>,
}

impl Sample {
    fn request(self, voice: Voice) -> Result<TtsRequest, ApiError> {
        let text = self.text.unwrap_or_else(|| TEXT.to_owned());
        let (language, speed) = (self.language.unwrap_or_else(|| "en-US".to_owned()), self.speed.unwrap_or(1.0));
        let mut errors = Vec::new();
        let mut check = |path: &str, holds: bool, message: &str| {
            if !holds {
                errors.push(FieldError::new(path, message));
            }
        };
        check("text", text.contains(char::is_alphanumeric), "must contain words");
        check("text", text.chars().count() <= MAX_TEXT, "must be at most 200 characters");
        check("language", is_language_tag(&language), "must be a language tag such as en-US");
        check("speed", (0.5..=2.0).contains(&speed), "must be from 0.5 to 2");
        let fits = |model: &str| !model.is_empty() && model.chars().count() <= MAX_WORD;
        check("model", self.model.as_deref().is_none_or(fits), "must be 1 to 200 characters");
        if errors.is_empty() {
            Ok(TtsRequest {
                text,
                voice: Some(voice.0),
                model: self.model,
                speed,
                language,
                format: AudioFormat::Narrowband,
            })
        } else {
            Err(ApiError::invalid_fields(errors))
        }
    }
}

/// A voice in a path: whatever a provider may call one.
#[derive(Debug)]
pub(super) struct Voice(String);

impl std::str::FromStr for Voice {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let fits = !text.is_empty() && text.chars().count() <= MAX_WORD && !text.chars().any(char::is_control);
        if fits { Ok(Self(text.to_owned())) } else { Err(()) }
    }
}

/// The parameter to blame for what the provider of a connection does not do.
const CONNECTION: &str = "id";

/// Returns the error of a request for voices, which blames this parameter, if any, for what the provider does not do.
fn refusal(error: VoiceError, parameter: Option<&str>) -> ApiError {
    let blaming = |error: ApiError| match parameter {
        Some(parameter) => error.of_field(parameter),
        None => error,
    };
    match error {
        VoiceError::Unknown => ApiError::not_found("voice"),
        VoiceError::Unusable(words) => blaming(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "no_voices", words)),
        VoiceError::Refused(words) => {
            blaming(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "provider_refused", words))
        }
        VoiceError::Unavailable(words) => {
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "provider_unavailable", words).retry_after(1)
        }
    }
}

async fn connection(state: &HttpState, tenant: Tenant, id: ConnectionId) -> Result<ConnectionRow, ApiError> {
    let mut conn = state.store.read().await?;
    connections::get(&mut conn, tenant.id, id).await?.ok_or_else(connection_not_found)
}

/// List a connection's voices.
///
/// ElevenLabs and Cartesia return the account's voices; OpenAI and Deepgram a built-in list, not `complete`; other OpenAI-compatible servers
/// only the connection's voice. Returns 422 without text-to-speech, 403 for viewers. Cached for five minutes (failures 15 seconds) or until the
/// connection changes.
#[utoipa::path(
    get, path = "/connections/{id}/voices", operation_id = "list_voices", tag = "Connections",
    params(("id" = uuid::Uuid, Path, description = "The connection")),
    responses((status = 200, description = "The voices", body = VoiceList))
)]
pub(super) async fn list(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<ConnectionId>,
) -> JsonResponse<VoiceList> {
    let row = connection(&state, tenant, id).await?;
    let (setup, changed_at) = (state.setup()?, row.updated_at);
    let ask = async move { setup.voices(Some(&row)).await };
    match state.voice_lists.list(id, changed_at, &state.steady, ask).await? {
        Ok(list) => Ok(Json(list)),
        Err(error @ VoiceError::Unavailable(_)) => {
            Err(refusal(error, Some(CONNECTION)).retry_after(FAILURE_KEPT.as_secs()))
        }
        Err(error) => Err(refusal(error, Some(CONNECTION))),
    }
}

/// List local voices.
///
/// Lists the voices for agents without a `tts.connection_id`.
#[utoipa::path(
    get, path = "/connections/local/voices", operation_id = "list_local_voices", tag = "Connections",
    responses((status = 200, description = "The voices", body = VoiceList))
)]
pub(super) async fn list_local(state: HttpState, _: Tenant) -> JsonResponse<VoiceList> {
    state.setup()?.voices(None).await.map(Json).map_err(|error| refusal(error, None))
}

/// Sample a voice.
///
/// Returns a few words as callers hear them, as mono WAV. The provider charges for it. Shares the limit of connection tests: one at a time per
/// tenant and node.
#[utoipa::path(
    post, path = "/connections/{id}/voices/{voice}/sample", operation_id = "sample_voice", tag = "Connections",
    request_body = Sample,
    params(
        ("id" = uuid::Uuid, Path, description = "The connection"),
        ("voice" = String, Path, description = "The provider's name of the voice", min_length = 1, max_length = 200),
    ),
    responses((status = 200, description = "The sample", body = Vec<u8>, content_type = "audio/wav"))
)]
pub(super) async fn sample(
    state: HttpState,
    tenant: Tenant,
    PathIds(id, voice): PathIds<ConnectionId, Voice>,
    body: UnreadBody,
) -> Result<Response, ApiError> {
    let row = connection(&state, tenant, id).await?;
    let Body { value: sample, .. } = body.read::<Sample>().await?;
    speak(&state, tenant, Some(&row), sample.request(voice)?).await
}

/// Sample a local voice.
///
/// Returns a few words as callers hear them, as mono WAV.
#[utoipa::path(
    post, path = "/connections/local/voices/{voice}/sample", operation_id = "sample_local_voice", tag = "Connections",
    request_body = Sample,
    params(("voice" = String, Path, description = "The voice", min_length = 1, max_length = 200)),
    responses((status = 200, description = "The sample", body = Vec<u8>, content_type = "audio/wav"))
)]
pub(super) async fn sample_local(
    state: HttpState,
    tenant: Tenant,
    PathId(voice): PathId<Voice>,
    body: UnreadBody,
) -> Result<Response, ApiError> {
    let Body { value: sample, .. } = body.read::<Sample>().await?;
    speak(&state, tenant, None, sample.request(voice)?).await
}

async fn speak(
    state: &HttpState,
    tenant: Tenant,
    row: Option<&ConnectionRow>,
    request: TtsRequest,
) -> Result<Response, ApiError> {
    let trial = state.trials.begin(tenant.id, row.is_none_or(|row| row.provider == "local")).await?;
    // The local voice refuses nothing else of a request; that its model is missing is the fault of none of its parameters.
    let of_language = (!is_english(&request.language)).then_some("language");
    let parameter = if row.is_some() { Some(CONNECTION) } else { of_language };
    let samples = state.setup()?.sample(row, request, trial.left()).await;
    let samples = samples.map_err(|error| refusal(error, parameter))?;
    Ok(([(header::CONTENT_TYPE, "audio/wav")], wav::mono(&samples, AudioFormat::Narrowband.sample_rate()))
        .into_response())
}
