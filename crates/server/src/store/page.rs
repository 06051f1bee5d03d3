//! Pages of lists with large rows, limited by number and by bytes.

use uuid::Uuid;

/// Maximum stored bytes of a page's rows; a single row may be larger. Parsed and serialised they take
/// several times as much memory.
pub const PAGE_BYTES: i64 = 2 << 20;

/// A page of a list, newest first.
pub struct Page<T> {
    /// The rows.
    pub rows: Vec<T>,
    /// The cursor of the next page, if any.
    pub next: Option<Uuid>,
}

impl<T> Page<T> {
    /// Builds a page from up to `limit + 1` rows; an extra row means that more follow.
    pub(super) fn from_rows(mut rows: Vec<T>, limit: usize, id: impl Fn(&T) -> Uuid) -> Self {
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
