//! Handling of DTMF from the caller.

use serde::{Deserialize, Serialize};

/// Collects the caller's keys into one input, up to the finish key, a pause or the maximum length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Dtmf {
    /// Whether keys are processed.
    pub enabled: bool,
    /// Key that ends an input and is not part of it; `null` for none.
    #[cfg_attr(feature = "openapi", schema(pattern = "^[0-9*#A-D]$", example = "#"))]
    pub finish_on_key: Option<String>,
    /// Pause after a key that ends the input.
    #[cfg_attr(feature = "openapi", schema(minimum = 500, maximum = 20_000))]
    pub digit_timeout_ms: u32,
    /// Number of keys that ends the input.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 64))]
    pub max_digits: u32,
    /// Whether a key stops the agent, if the caller may interrupt.
    pub interrupt: bool,
}

impl Default for Dtmf {
    fn default() -> Self {
        Self {
            enabled: true,
            finish_on_key: Some("#".to_owned()),
            digit_timeout_ms: 2_000,
            max_digits: 32,
            interrupt: true,
        }
    }
}

impl Dtmf {
    /// Returns the key that ends an input.
    #[must_use]
    pub fn finish_key(&self) -> Option<char> {
        self.finish_on_key.as_ref()?.chars().next()
    }
}
