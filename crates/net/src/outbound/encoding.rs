//! Unpacks the bodies of responses as their `Content-Encoding` says: any case, several encodings, over several headers.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_compression::tokio::bufread::{BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder};
use bytes::Bytes;
use futures_util::{Stream, TryStreamExt as _, stream};
use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap};
use reqwest::{Body, Response, ResponseBuilderExt as _};
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncRead, BufReader, ReadBuf};
use tokio_util::io::{ReaderStream, StreamReader};

/// The encodings that requests offer.
pub(super) const ACCEPTED: &str = "gzip, deflate, br, zstd";
/// The most encodings of one body.
const MOST_ENCODINGS: usize = 4;
/// The most bytes that an encoding of a body may unpack to for the next one. The reader limits what the last one unpacks to.
const MAX_BETWEEN: u64 = 16 * 1024 * 1024;
/// Bytes of a body in one piece.
const PIECE: usize = 16 * 1024;
/// The longest part of an unknown encoding's name in an error, in characters.
const QUOTED: usize = 40;

#[derive(Clone, Copy)]
enum Encoding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// A body, packed or not.
type Packed = Pin<Box<dyn AsyncBufRead + Send>>;

/// Returns a response whose body is unpacked as it is read. Reading fails if it cannot be unpacked; the error of an unknown encoding names
/// it.
#[must_use]
pub fn unpacked(mut response: Response) -> Response {
    let encodings = match encodings(response.headers()) {
        Ok(encodings) if encodings.is_empty() => return response,
        encodings => encodings,
    };
    let mut headers = std::mem::take(response.headers_mut());
    headers.remove(CONTENT_ENCODING);
    headers.remove(CONTENT_LENGTH);
    let extensions = std::mem::take(response.extensions_mut());
    let head = http::Response::builder().status(response.status()).version(response.version());
    let head = head.url(response.url().clone());
    let body = match encodings {
        Ok(encodings) => Body::wrap_stream(unpack(response.bytes_stream(), encodings)),
        Err(words) => Body::wrap_stream(stream::iter([Err::<Bytes, _>(io::Error::other(words))])),
    };
    let mut unpacked = head.body(body).expect("a status and a version of a response");
    *unpacked.headers_mut() = headers;
    unpacked.extensions_mut().extend(extensions);
    unpacked.into()
}

/// Returns the encodings in the order in which they were applied.
///
/// # Errors
/// If one is unknown, or there are too many.
fn encodings(headers: &HeaderMap) -> Result<Vec<Encoding>, String> {
    let mut encodings = Vec::new();
    for value in headers.get_all(CONTENT_ENCODING) {
        let value = String::from_utf8_lossy(value.as_bytes());
        for name in value.split(',').map(str::trim) {
            encodings.push(match name.to_ascii_lowercase().as_str() {
                "gzip" | "x-gzip" => Encoding::Gzip,
                "deflate" => Encoding::Deflate,
                "br" => Encoding::Brotli,
                "zstd" => Encoding::Zstd,
                // Not encodings, but seen; none of them changes the body.
                "" | "identity" | "none" | "utf-8" | "utf8" | "binary" | "8bit" | "7bit" => continue,
                _ => {
                    let name: String = name.chars().take(QUOTED).collect();
                    return Err(format!("it is encoded as {name:?}, and only {ACCEPTED} can be read"));
                }
            });
        }
    }
    if encodings.len() > MOST_ENCODINGS {
        return Err(format!("it is encoded {} times, and at most {MOST_ENCODINGS} are read", encodings.len()));
    }
    Ok(encodings)
}

/// Unpacks a body. The last encoding is the outermost one.
fn unpack(
    body: impl Stream<Item = reqwest::Result<Bytes>> + Send + 'static,
    encodings: Vec<Encoding>,
) -> impl Stream<Item = io::Result<Bytes>> + Send {
    let mut layer: Packed = Box::pin(StreamReader::new(body.map_err(io::Error::other)));
    let open = async move {
        let last = encodings.len() - 1;
        for (at, encoding) in encodings.into_iter().rev().enumerate() {
            let unpacked = decoder(layer, encoding).await?;
            let left = if at < last { MAX_BETWEEN } else { u64::MAX };
            layer = Box::pin(BufReader::with_capacity(PIECE, Limited { inner: unpacked, left }));
        }
        Ok::<_, io::Error>(ReaderStream::with_capacity(layer, PIECE))
    };
    stream::once(open).try_flatten()
}

/// Returns a reader of what a body unpacks to; an empty body stays empty.
async fn decoder(mut packed: Packed, encoding: Encoding) -> io::Result<Pin<Box<dyn AsyncRead + Send>>> {
    let Some(first) = packed.fill_buf().await?.first().copied() else { return Ok(packed) };
    Ok(match encoding {
        Encoding::Gzip => {
            let mut decoder = GzipDecoder::new(packed);
            decoder.multiple_members(true);
            Box::pin(decoder)
        }
        // Some servers leave out zlib's header, whose first half byte is 8.
        Encoding::Deflate if first & 0xf != 8 => Box::pin(DeflateDecoder::new(packed)),
        Encoding::Deflate => Box::pin(ZlibDecoder::new(packed)),
        Encoding::Brotli => Box::pin(BrotliDecoder::new(packed)),
        Encoding::Zstd => {
            let mut decoder = ZstdDecoder::new(packed);
            decoder.multiple_members(true);
            Box::pin(decoder)
        }
    })
}

/// A reader that fails beyond a number of bytes.
struct Limited {
    inner: Pin<Box<dyn AsyncRead + Send>>,
    left: u64,
}

impl AsyncRead for Limited {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(self.inner.as_mut().poll_read(context, buffer))?;
        let read = u64::try_from(buffer.filled().len() - before).unwrap_or(u64::MAX);
        match self.left.checked_sub(read) {
            Some(left) => self.left = left,
            None => return Poll::Ready(Err(io::Error::other("it unpacks to too many bytes"))),
        }
        Poll::Ready(Ok(()))
    }
}
