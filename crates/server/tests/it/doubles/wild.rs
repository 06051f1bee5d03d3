//! What loose servers have in common: bodies that arrive in any pieces, late, and not always to their end.

use std::io::Write as _;
use std::time::Duration;

use axum::body::{Body, Bytes};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::{StreamExt as _, stream};
use tokio::time::sleep;

use crate::crash::rng::Rng;

/// A pause in the middle of a body, in virtual time.
const PAUSE: Duration = Duration::from_millis(300);

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyEnd {
    Complete,
    /// The connection breaks.
    Breaks,
    /// Nothing follows, and the connection stays open.
    Stalls,
}

/// Cuts bytes at random places, also within characters.
pub(super) fn cut(random: &mut Rng, bytes: Vec<u8>) -> Vec<Bytes> {
    let longest = random.any(&[12, 40, 300, 100_000]);
    let (mut pieces, mut rest) = (Vec::new(), Bytes::from(bytes));
    while !rest.is_empty() {
        let size = (1 + random.position(longest)).min(rest.len());
        pieces.push(rest.split_to(size));
    }
    pieces
}

/// Returns a body that arrives in random pieces, at times with a pause.
pub(super) fn body(random: &mut Rng, bytes: Vec<u8>, end: BodyEnd) -> Body {
    let pieces = cut(random, bytes);
    let pause = if random.once_in(2) { random.position(pieces.len().max(1)) } else { pieces.len() };
    let spaced = stream::iter(pieces.into_iter().enumerate()).then(move |(at, piece)| async move {
        // A sleep of zero ends only when the clock advances.
        if at == pause {
            sleep(PAUSE).await;
        } else {
            tokio::task::yield_now().await;
        }
        Ok(piece)
    });
    let then = match end {
        BodyEnd::Complete => stream::empty().left_stream().left_stream(),
        BodyEnd::Breaks => stream::iter([Err(std::io::Error::other("cut"))]).right_stream().left_stream(),
        BodyEnd::Stalls => stream::pending().right_stream(),
    };
    let then = then.then(|piece| async move {
        tokio::task::yield_now().await;
        piece
    });
    Body::from_stream(spaced.chain(then))
}

/// Packs a body as `Content-Encoding: gzip` says.
pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}
