//! Values that must never reach a log: their `Debug` reveals nothing, and they have no `Display`.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The secrets of a connection, by name.
pub type Credentials = BTreeMap<String, String>;

/// Personal or secret text, such as speech or a credential. Prints as `[private]`; read it with [`Private::reveal`].
#[derive(Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Private<T>(T);

impl<T> Private<T> {
    /// Wraps `value`.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// Returns the value.
    pub const fn reveal(&self) -> &T {
        &self.0
    }

    /// Unwraps the value.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> fmt::Debug for Private<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[private]")
    }
}

impl<T> From<T> for Private<T> {
    fn from(value: T) -> Self {
        Self(value)
    }
}
