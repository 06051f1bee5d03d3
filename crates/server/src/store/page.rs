//! Pages of lists with large rows, limited by number and by bytes.

use std::borrow::Cow;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use utoipa::IntoParams;
use uuid::Uuid;

/// Maximum stored bytes of a page's rows; a single row may be larger. Parsed and serialised they take
/// several times as much memory.
pub(super) const PAGE_BYTES: i64 = 2 << 20;

/// Selects a page of a list, newest first. The cursor is the id of the last row seen.
#[derive(Clone, Copy, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PageRequest {
    /// Page size, 1 to 100.
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 100, default = 20)]
    pub limit: i64,
    /// `next_cursor` of the previous page.
    #[param(nullable)]
    #[serde(default, deserialize_with = "next_cursor")]
    pub cursor: Option<Uuid>,
}

/// Reads a `next_cursor`, which some clients write into a query although it is `null`.
fn next_cursor<'de, D: Deserializer<'de>>(query: D) -> Result<Option<Uuid>, D::Error> {
    let text = Cow::<str>::deserialize(query)?;
    if text == "null" {
        return Ok(None);
    }
    text.parse().map(Some).map_err(D::Error::custom)
}

fn default_limit() -> i64 {
    20
}

impl PageRequest {
    /// Requests the first `limit` rows.
    #[must_use]
    pub fn first(limit: i64) -> Self {
        Self { limit, cursor: None }
    }

    /// Returns the id that all rows of the page precede.
    pub(super) fn before(self) -> Uuid {
        self.cursor.unwrap_or(Uuid::max())
    }

    /// Requests fewer rows if rows of these sizes exceed [`PAGE_BYTES`], but at least one.
    pub(super) fn fitting(self, sizes: Vec<i64>) -> Self {
        Self { limit: i64::try_from(fitting(sizes, PAGE_BYTES)).map_or(self.limit, |fit| fit.max(1)), ..self }
    }
}

/// A page of a list, newest first.
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// The cursor of the next page, if any.
    pub next: Option<Uuid>,
}

impl<T> Page<T> {
    /// Builds a page from up to `limit + 1` rows; an extra row means that more follow.
    pub(super) fn from_rows(mut rows: Vec<T>, limit: i64, id: impl Fn(&T) -> Uuid) -> Self {
        let limit = usize::try_from(limit).unwrap_or(0);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = if more { rows.last().map(id) } else { None };
        Self { rows, next }
    }
}

/// Counts the leading rows of these sizes that fit into `bytes`.
pub(super) fn fitting(sizes: impl IntoIterator<Item = i64>, mut left: i64) -> usize {
    let fits = |size: &i64| {
        left = left.saturating_sub(*size);
        left >= 0
    };
    sizes.into_iter().take_while(fits).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_taken_as_long_as_they_fit() {
        assert_eq!(fitting([1, 2, 3], 6), 3);
        assert_eq!(fitting([1, 2, 3], 5), 2);
        assert_eq!(fitting([10, 1], 5), 0, "a small one behind a large one waits its turn");
        assert_eq!(fitting([i64::MAX, i64::MAX], 5), 0);
    }
}
