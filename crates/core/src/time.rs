//! Points in time for the database and the API.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcOffset};

/// A point in time: whole microseconds since 1970-01-01T00:00:00Z.
///
/// Stored as a 64-bit integer on both database engines and printed as RFC 3339 in UTC, with six digits of fraction and ending in
/// `Z`, so that texts sort like the times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// The earliest and latest instants RFC 3339 can write: years 0000 to 9999.
const MIN_MICROS: i64 = -62_167_219_200_000_000;
const MAX_MICROS: i64 = 253_402_300_799_999_999;

impl Timestamp {
    /// Creates a timestamp from microseconds since the Unix epoch, clamped to the years 0000 to 9999.
    #[must_use]
    pub fn from_micros(micros: i64) -> Self {
        Self(micros.clamp(MIN_MICROS, MAX_MICROS))
    }

    /// Creates a timestamp from milliseconds since the Unix epoch.
    #[must_use]
    pub fn from_millis(millis: i64) -> Self {
        Self::from_micros(millis.saturating_mul(1_000))
    }

    /// Returns microseconds since the Unix epoch.
    #[must_use]
    pub fn as_micros(self) -> i64 {
        self.0
    }

    /// Returns milliseconds since the Unix epoch, rounded down.
    #[must_use]
    pub fn as_millis(self) -> i64 {
        self.0.div_euclid(1_000)
    }

    /// Returns seconds since the Unix epoch, rounded down.
    #[must_use]
    pub fn as_seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Returns the duration since `earlier`; zero if this is not later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        u64::try_from(self.0.saturating_sub(earlier.0)).map_or(Duration::ZERO, Duration::from_micros)
    }

    /// Parses RFC 3339 with any offset; truncates to microseconds.
    ///
    /// # Errors
    /// If `text` is not RFC 3339.
    pub fn parse(text: &str) -> Result<Self, ParseTimestampError> {
        let at = OffsetDateTime::parse(text, &Rfc3339).map_err(|_| ParseTimestampError)?;
        Ok(Self::from_micros(
            i64::try_from(at.unix_timestamp_nanos().div_euclid(1_000)).map_err(|_| ParseTimestampError)?,
        ))
    }

    /// Returns the calendar date and time in UTC.
    #[must_use]
    pub fn to_utc(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000)
            .expect("from_micros keeps every timestamp within the years that OffsetDateTime knows")
            .to_offset(UtcOffset::UTC)
    }
}

/// The text is not an RFC 3339 date and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a date and time in RFC 3339 form, such as 2026-01-31T09:30:00Z")]
pub struct ParseTimestampError;

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.to_utc();
        let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
        let (hour, minute, second, micros) = (at.hour(), at.minute(), at.second(), at.microsecond());
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
    }
}

/// Creates a timestamp from the database's microseconds.
impl From<i64> for Timestamp {
    fn from(micros: i64) -> Self {
        Self::from_micros(micros)
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;
    fn add(self, by: Duration) -> Self {
        Self::from_micros(self.0.saturating_add(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;
    fn sub(self, by: Duration) -> Self {
        Self::from_micros(self.0.saturating_sub(i64::try_from(by.as_micros()).unwrap_or(i64::MAX)))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// Durations as whole nanoseconds, for serde's `with`.
pub(crate) mod nanoseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
        u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_utc_ending_in_z_and_reads_itself_back() {
        let at = Timestamp::parse("2026-01-31T10:30:00.123456+01:00").expect("a valid date");
        assert_eq!(at.to_string(), "2026-01-31T09:30:00.123456Z");
        assert_eq!(Timestamp::parse(&at.to_string()), Ok(at));
    }

    #[test]
    fn texts_have_one_length_and_sort_like_the_times() {
        let times = [MIN_MICROS, -1, 0, 999_999, 1_000_000, 1_769_851_800_000_000, 1_769_851_800_100_000, MAX_MICROS];
        let texts = times.map(|micros| Timestamp::from_micros(micros).to_string());
        assert!(texts.is_sorted() && texts.iter().all(|text| text.len() == 27), "{texts:?}");
        assert_eq!(texts[2], "1970-01-01T00:00:00.000000Z");
        for (text, micros) in texts.iter().zip(times) {
            assert_eq!(Timestamp::parse(text), Ok(Timestamp::from_micros(micros)), "{text}");
        }
    }

    #[test]
    fn arithmetic_saturates_and_never_goes_negative() {
        let at = Timestamp::from_millis(5);
        assert_eq!(at.since(at + Duration::from_secs(1)), Duration::ZERO);
        assert_eq!((at + Duration::from_secs(1)).since(at), Duration::from_secs(1));
        let _still_printable = (at + Duration::MAX).to_string();
    }
}
