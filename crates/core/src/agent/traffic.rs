//! Which versions of an agent new calls get.

use serde::{Deserialize, Serialize};

use super::FieldError;
use crate::id::CallId;

/// Maximum number of versions that share an agent's calls.
const MAX_PARTS: usize = 10;
/// The random bits at the end of a UUIDv7 (RFC 9562 section 5.7).
const RANDOM: u128 = (1 << 62) - 1;

/// How an agent's new calls are split among its versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Traffic(Vec<TrafficPart>);

/// A version and its share of the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrafficPart {
    /// The version.
    pub version: i64,
    /// Its share, 1 to 100.
    pub percent: u32,
}

impl Traffic {
    /// Splits calls as these parts say; [`validate`](Self::validate) checks them.
    #[must_use]
    pub const fn new(parts: Vec<TrafficPart>) -> Self {
        Self(parts)
    }

    /// Sends every call to one version.
    #[must_use]
    pub fn all_to(version: i64) -> Self {
        Self(vec![TrafficPart { version, percent: 100 }])
    }

    /// Returns the parts.
    #[must_use]
    pub fn parts(&self) -> &[TrafficPart] {
        &self.0
    }

    /// Returns whether calls can get this version.
    #[must_use]
    pub fn names(&self, version: i64) -> bool {
        self.0.iter().any(|part| part.version == version)
    }

    /// Returns all errors, except for versions that do not exist.
    #[must_use]
    pub fn validate(&self) -> Vec<FieldError> {
        if self.0.is_empty() || self.0.len() > MAX_PARTS {
            return vec![FieldError::new("traffic", format!("must have 1 to {MAX_PARTS} parts, or be null"))];
        }
        let mut errors = Vec::new();
        for (at, part) in self.0.iter().enumerate() {
            if !(1..=100).contains(&part.percent) {
                errors.push(FieldError::new(format!("traffic.{at}.percent"), "must be from 1 to 100"));
            }
            if self.0[..at].iter().any(|before| before.version == part.version) {
                errors.push(FieldError::new(
                    format!("traffic.{at}.version"),
                    format!("repeats version {}", part.version),
                ));
            }
        }
        let sum: u64 = self.0.iter().map(|part| u64::from(part.percent)).sum();
        if errors.is_empty() && sum != 100 {
            errors.push(FieldError::new("traffic", format!("must add up to 100 percent, not {sum}")));
        }
        errors
    }

    /// Returns the version that a call gets. It depends only on the random part of the call's id, so the choice is reproducible and the
    /// id can be made later with another time.
    #[must_use]
    pub fn version(&self, call: CallId) -> i64 {
        let mut place = (call.uuid().as_u128() & RANDOM) % 100;
        for part in &self.0 {
            match place.checked_sub(u128::from(part.percent)) {
                Some(rest) => place = rest,
                None => return part.version,
            }
        }
        // Only parts that do not add up to 100 lead here.
        self.0.last().map_or(0, |part| part.version)
    }
}

#[cfg(feature = "openapi")]
mod description {
    use utoipa::openapi::schema::{ArrayBuilder, KnownFormat, ObjectBuilder, SchemaFormat, SchemaType, Type};
    use utoipa::openapi::{RefOr, Schema};
    use utoipa::{PartialSchema, ToSchema};

    use super::{MAX_PARTS, Traffic};

    const DESCRIPTION: &str = "Percentage of new calls per version, 100 in total. Defaults to the newest version.";

    impl ToSchema for Traffic {}
    impl PartialSchema for Traffic {
        // Written out, because a schema of a part would be there twice, for requests and responses.
        fn schema() -> RefOr<Schema> {
            let whole = || ObjectBuilder::new().schema_type(SchemaType::new(Type::Integer)).minimum(Some(1));
            let part = ObjectBuilder::new()
                .property("version", whole().format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64))))
                .property("percent", whole().maximum(Some(100)))
                .required("version")
                .required("percent");
            let parts = ArrayBuilder::new().items(part).min_items(Some(1)).max_items(Some(MAX_PARTS));
            parts.description(Some(DESCRIPTION)).build().into()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Timestamp;

    fn traffic(parts: &[(i64, u32)]) -> Traffic {
        Traffic::new(parts.iter().map(|&(version, percent)| TrafficPart { version, percent }).collect())
    }

    /// Ids as a service makes them: a fixed sequence of well-mixed bits in the place of randomness.
    fn calls(count: u64) -> impl Iterator<Item = CallId> {
        (0..count).map(|number| {
            let mixed = |salt: u64| {
                let mut bits = (number + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                bits ^ (bits >> 31)
            };
            let mut random = [0; 10];
            random[..8].copy_from_slice(&mixed(0).to_le_bytes());
            random[8..].copy_from_slice(&mixed(1 << 40).to_le_bytes()[..2]);
            CallId::new(Timestamp::from_micros(1_790_000_000_000_000), random)
        })
    }

    #[test]
    fn calls_are_split_as_the_percents_say() {
        for parts in [vec![(3, 100)], vec![(7, 90), (8, 10)], vec![(1, 1), (2, 33), (3, 66)], vec![(5, 50), (2, 50)]] {
            let mut counts: BTreeMap<i64, u32> = BTreeMap::new();
            calls(100_000).for_each(|call| *counts.entry(traffic(&parts).version(call)).or_default() += 1);
            assert_eq!(counts.len(), parts.len(), "{counts:?}");
            for (version, percent) in parts {
                // More than five standard deviations of the widest part.
                assert!(counts[&version].abs_diff(percent * 1_000) < 800, "{version}: {counts:?}");
            }
        }
    }

    #[test]
    fn the_version_of_a_call_does_not_depend_on_when_its_id_is_made() {
        let split = traffic(&[(1, 50), (2, 50)]);
        for number in 0..200 {
            let random = [number; 10];
            let at = |micros| split.version(CallId::new(Timestamp::from_micros(micros), random));
            assert_eq!(at(1_790_000_000_000_000), at(1_790_000_123_456_789));
        }
    }

    #[test]
    fn a_larger_first_share_keeps_the_calls_that_it_had() {
        let had: Vec<_> = calls(5_000).filter(|call| traffic(&[(8, 10), (7, 90)]).version(*call) == 8).collect();
        assert!(had.iter().all(|call| traffic(&[(8, 25), (7, 75)]).version(*call) == 8) && !had.is_empty());
    }

    #[test]
    fn percents_are_whole_and_add_up_to_100() {
        let eleven: Vec<_> = (1..=11).map(|version| (version, 9)).collect();
        for (parts, path) in [
            (vec![], "traffic"),
            (eleven, "traffic"),
            (vec![(1, 99)], "traffic"),
            (vec![(1, 60), (2, 60)], "traffic"),
            (vec![(1, 100), (2, 0)], "traffic.1.percent"),
            (vec![(1, 101)], "traffic.0.percent"),
            (vec![(1, u32::MAX), (2, u32::MAX)], "traffic.0.percent"),
            (vec![(1, 50), (1, 50)], "traffic.1.version"),
        ] {
            let errors = traffic(&parts).validate();
            assert_eq!(errors.first().map(|error| error.path.as_str()), Some(path), "{parts:?}: {errors:?}");
        }
        assert_eq!(traffic(&[(1, 1), (9, 99)]).validate(), []);
    }
}
