//! The report of an apply, for people and programs.

use serde::Serialize;
use uuid::Uuid;

use super::document::Kind;
use super::problem::{Problem, printable};
use super::write::Written;

/// The changes that an apply made, or would make. It has no `Debug`, which would print secrets.
#[derive(Serialize)]
pub struct Report {
    created: Vec<Item>,
    changed: Vec<Item>,
    unchanged: usize,
    /// In a dry run: what exists and is in no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_in_files: Option<Vec<Other>>,
    /// Warnings for the operator.
    #[serde(skip)]
    notes: Vec<String>,
}

/// A thing that was created or changed.
#[derive(Serialize)]
pub struct Item {
    kind: &'static str,
    name: String,
    /// `null` for what a dry run would create.
    id: Option<Uuid>,
    /// The version of an agent.
    version: Option<i64>,
    /// The paths of fields that changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<String>,
    /// The signing secret of a new webhook, shown only this once.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
    #[serde(skip)]
    changes: Vec<String>,
}

#[derive(Serialize)]
struct Other {
    kind: &'static str,
    name: String,
}

impl Report {
    pub(super) fn new(
        written: Vec<Written>,
        unchanged: usize,
        others: Option<Vec<(Kind, String)>>,
        notes: &[Problem],
    ) -> Self {
        let dry_run = others.is_some();
        let (created, changed): (Vec<_>, Vec<_>) = written.into_iter().partition(|written| written.is_new);
        let items = |written: Vec<Written>| written.into_iter().map(|written| Item::of(written, dry_run)).collect();
        let other = |(kind, name): (Kind, String)| Other { kind: kind.word(), name };
        Self {
            created: items(created),
            changed: items(changed),
            unchanged,
            not_in_files: others.map(|others| others.into_iter().map(other).collect()),
            notes: notes.iter().map(ToString::to_string).collect(),
        }
    }

    /// Returns warnings and notes, a line each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns what people read.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let dry_run = self.not_in_files.is_some();
        let mut lines = Vec::new();
        for (items, word) in [(&self.created, "create"), (&self.changed, "change")] {
            for item in items {
                lines.push(item.line(if dry_run { word.to_owned() } else { format!("{word}d") }.as_str()));
                lines.extend(item.changes.iter().map(|change| format!("  {change}")));
                let secret = item.secret.iter();
                lines.extend(secret.map(|secret| format!("  signing secret (shown only this once): {secret}")));
            }
        }
        for other in self.not_in_files.iter().flatten() {
            lines.push(format!("not in the files, left alone: {} {}", other.kind, printable(&other.name)));
        }
        let (created, changed, unchanged) = (self.created.len(), self.changed.len(), self.unchanged);
        lines.push(match (created + changed, dry_run) {
            (0, _) => format!("Nothing changes: {unchanged} unchanged."),
            (_, true) => {
                format!("{created} to create, {changed} to change, {unchanged} unchanged. Nothing was written.")
            }
            (_, false) => format!("{created} created, {changed} changed, {unchanged} unchanged."),
        });
        lines
    }
}

impl Item {
    fn of(written: Written, dry_run: bool) -> Self {
        let (fields, changes) = written.changes.into_iter().unzip();
        let hidden = dry_run && written.is_new;
        Self {
            kind: written.kind.word(),
            name: written.name,
            id: (!hidden).then_some(written.id),
            version: written.version,
            fields,
            secret: written.secret.filter(|_| !hidden).map(|secret| secret.reveal().to_owned()),
            changes,
        }
    }

    fn line(&self, verb: &str) -> String {
        let version = self.version.map(|version| format!(" (version {version})")).unwrap_or_default();
        format!("{verb} {} {}{version}", self.kind, printable(&self.name))
    }
}
