//! Parses SDP offers, which are untrusted input from browsers.

use str0m::change::SdpOffer;

/// The longest offer that is read, in bytes. Browsers need 2 to 6 KiB for a microphone.
pub const OFFER_LIMIT: usize = 16 << 10;

/// Why an offer was not answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OfferError {
    /// It is too long.
    #[error("the offer is longer than {OFFER_LIMIT} bytes")]
    TooLong,
    /// It is not SDP, or not that of a WebRTC session.
    #[error("the offer is no SDP of a WebRTC session")]
    Malformed,
    /// It has no audio in both directions, or no Opus.
    #[error("the offer has no microphone with Opus in both directions")]
    NoAudio,
    /// It has media that the service does not use.
    #[error("the offer has more media than a microphone")]
    TooMuchMedia,
    /// An internal error.
    #[error("no session could be made")]
    Unavailable,
}

/// Parses an offer without its addresses: the service answers peers with the right credentials, and never sends anything to addresses that a page
/// names.
pub(crate) fn read(offer: &str) -> Result<SdpOffer, OfferError> {
    if offer.len() > OFFER_LIMIT {
        return Err(OfferError::TooLong);
    }
    if offer.lines().filter(|line| line.starts_with("m=")).count() > 1 {
        return Err(OfferError::TooMuchMedia);
    }
    let is_address = |line: &str| line.starts_with("a=candidate:") || line.starts_with("a=end-of-candidates");
    let mut kept = String::with_capacity(offer.len() + 2);
    for line in offer.lines().filter(|line| !is_address(line)) {
        kept.push_str(line);
        kept.push_str("\r\n");
    }
    SdpOffer::from_sdp_string(&kept).map_err(|_| OfferError::Malformed)
}

/// An offer from Chromium for a microphone; only what identifies a machine is changed.
#[cfg(test)]
pub(crate) const CHROMIUM: &str = include_str!("tests/chromium.sdp");

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || vec![vec![CHROMIUM.as_bytes().to_vec()], vec![crate::tests::offer().into_bytes()]],
    read: |messages| {
        let settings = crate::tests::settings();
        switchhook_fuzz::Read::each_text(messages, |text| {
            let answered = crate::Session::answer(&settings, text, std::time::Instant::now());
            answered.map(|(session, answer)| session.name().len() + answer.len())
        })
    },
};
