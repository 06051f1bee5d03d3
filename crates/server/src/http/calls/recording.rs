//! `GET /v1/calls/{id}/recording`.

use std::io::SeekFrom;

use axum::body::Body;
use axum::http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_RANGE, RANGE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use switchhook_core::id::CallId;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};
use tokio_util::io::ReaderStream;

use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::extract::PathId;
use crate::recordings::Recordings;
use crate::store::calls;

/// Download a recording.
///
/// The recording is a stereo WAV, 8 or 16 kHz like the call, caller left, agent right. Supports one byte range; several return the whole file.
#[utoipa::path(
    get, path = "/calls/{id}/recording", operation_id = "fetch_recording", tag = "Calls",
    params(
        ("id" = uuid::Uuid, Path, description = "The call"),
        ("Range" = Option<String>, Header, description = "The byte range", example = "bytes=0-43", nullable = false),
        ("If-Range" = Option<String>, Header, description = "The `ETag`; if the recording differs, the whole file is returned", nullable = false),
    ),
    responses(
        (status = 200, description = "The recording", body = Vec<u8>, content_type = "audio/wav", headers(
            ("Accept-Ranges" = String, description = "`bytes`"),
            ("ETag" = String, description = "For `If-Range`"),
        )),
        (status = 206, description = "The requested range", body = Vec<u8>, content_type = "audio/wav", headers(
            ("Accept-Ranges" = String, description = "`bytes`"),
            ("Content-Range" = String, description = "The range and the total length: `bytes 0-43/160044`"),
            ("ETag" = String, description = "For `If-Range`"),
        )),
        (status = 416, description = "The range starts after the end", body = ErrorBody, headers(
            ("Content-Range" = String, description = "The length of the recording: `bytes */160044`"),
        )),
    )
)]
pub(super) async fn recording(
    state: HttpState,
    tenant: Tenant,
    PathId(id): PathId<CallId>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let row = {
        let mut conn = state.store.read().await?;
        calls::get(&mut conn, tenant.id, id).await?.ok_or_else(|| ApiError::not_found("call"))?
    };
    let missing = || ApiError::not_found("recording");
    row.recording.as_ref().ok_or_else(missing)?;
    let recording = Recordings::below(&state.config.data_dir).of(row.tenant_id, row.id);
    let elsewhere = "The recording of this call is not on this node, or has been deleted. Recordings are files of the node that held \
                     the call, unless the operator has put them on storage that all nodes share.";
    let mut file = recording.open().await.map_err(|_| ApiError::new(StatusCode::NOT_FOUND, "not_found", elsewhere))?;
    let length = file.metadata().await.map_err(anyhow::Error::from)?.len();
    let tag = format!("\"{id}-{length}\"");
    let mut response = match wanted(&headers, &tag, length) {
        Wanted::Whole => (StatusCode::OK, body(file, length)).into_response(),
        Wanted::Part { first, last } => {
            file.seek(SeekFrom::Start(first)).await.map_err(anyhow::Error::from)?;
            let range = [(CONTENT_RANGE, format!("bytes {first}-{last}/{length}"))];
            (StatusCode::PARTIAL_CONTENT, range, body(file, last - first + 1)).into_response()
        }
        Wanted::Nothing => {
            let detail = format!("The range starts after the end of the recording, which is {length} bytes long.");
            let error = ApiError::new(StatusCode::RANGE_NOT_SATISFIABLE, "range_not_satisfiable", detail);
            return Ok(([(CONTENT_RANGE, format!("bytes */{length}"))], error).into_response());
        }
    };
    response.headers_mut().insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(ETAG, tag);
    }
    Ok(response)
}

fn body(file: File, length: u64) -> impl IntoResponse {
    let stream = Body::from_stream(ReaderStream::new(file.take(length)));
    ([(CONTENT_TYPE, "audio/wav".to_owned()), (CONTENT_LENGTH, length.to_string())], stream)
}

/// The requested part of a recording.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Whole,
    /// First and last byte, inclusive.
    Part {
        first: u64,
        last: u64,
    },
    /// A range that starts after the end.
    Nothing,
}

/// Parses `Range` and `If-Range` (RFC 9110 sections 13.1.5 and 14.2). Ignores anything but one well-formed byte range.
fn wanted(headers: &HeaderMap, tag: &str, length: u64) -> Wanted {
    let current = headers.get(IF_RANGE).is_none_or(|condition| condition.as_bytes() == tag.as_bytes());
    let mut sent = headers.get_all(RANGE).iter();
    let (Some(range), None, true) = (sent.next(), sent.next(), current) else { return Wanted::Whole };
    range.to_str().ok().and_then(|range| one_range(range, length)).unwrap_or(Wanted::Whole)
}

/// Parses `bytes=first-last`, `bytes=first-` or `bytes=-suffix`.
fn one_range(range: &str, length: u64) -> Option<Wanted> {
    let (unit, range) = range.split_once('=')?;
    let (first, last) = range.trim().split_once('-')?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !unit.trim().eq_ignore_ascii_case("bytes") || !digits(first) || !digits(last) {
        return None;
    }
    // Too many digits for a file size.
    let number = |text: &str| text.parse().unwrap_or(u64::MAX);
    let (first, last) = match (first.is_empty(), last.is_empty()) {
        (true, true) => return None,
        (true, false) if number(last) == 0 => return Some(Wanted::Nothing),
        (true, false) => (length.saturating_sub(number(last)), length.saturating_sub(1)),
        (false, true) => (number(first), length.saturating_sub(1)),
        (false, false) if number(last) < number(first) => return None,
        (false, false) => (number(first), number(last).min(length.saturating_sub(1))),
    };
    Some(if first < length { Wanted::Part { first, last } } else { Wanted::Nothing })
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::each_alone(&[r##"bytes=0-99"##, r##"bytes=100-"##, r##"bytes=-5"##, r##"bytes=0-0,5-9"##])
    },
    read: |messages| {
        switchhook_fuzz::Read::each(messages, |range| {
            let range = HeaderValue::from_bytes(range).map_err(drop)?;
            match wanted(&HeaderMap::from_iter([(RANGE, range)]), "\"x\"", 100) {
                Wanted::Part { first, last } => assert!(first <= last && last < 100, "{first}-{last}"),
                Wanted::Whole | Wanted::Nothing => {}
            }
            Ok::<_, ()>(1)
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_range_is_served_and_what_is_none_is_ignored() {
        let part = |first, last| Wanted::Part { first, last };
        for (range, expected) in [
            ("bytes=0-43", part(0, 43)),
            ("Bytes=10-", part(10, 99)),
            ("bytes=-10", part(90, 99)),
            ("bytes=-1000", part(0, 99)),
            ("bytes=99-99999999999999999999999", part(99, 99)),
            ("bytes=100-", Wanted::Nothing),
            ("bytes=99999999999999999999999-", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=0-1,5-6", Wanted::Whole),
            ("bytes=7-3", Wanted::Whole),
            ("bytes=-", Wanted::Whole),
            ("bytes=a-b", Wanted::Whole),
            ("lines=0-1", Wanted::Whole),
            ("bytes", Wanted::Whole),
        ] {
            let headers = HeaderMap::from_iter([(RANGE, HeaderValue::from_static(range))]);
            assert_eq!(wanted(&headers, "\"tag\"", 100), expected, "{range}");
        }
    }

    #[test]
    fn a_range_of_what_was_there_before_gets_all_of_what_is_there_now() {
        let with = |condition| {
            let range = (RANGE, HeaderValue::from_static("bytes=0-1"));
            wanted(&HeaderMap::from_iter([range, (IF_RANGE, HeaderValue::from_static(condition))]), "\"tag\"", 100)
        };
        assert_eq!(with("\"tag\""), Wanted::Part { first: 0, last: 1 });
        assert_eq!(with("\"older\""), Wanted::Whole);
        assert_eq!(with("Sat, 29 Oct 1994 19:43:31 GMT"), Wanted::Whole);
    }
}
