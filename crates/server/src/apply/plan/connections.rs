//! Plans connections, whose secrets are compared and never shown.

use serde_json::{Map, Value, json};
use switchhook_core::id::ConnectionId;
use switchhook_core::private::{Credentials, Private};

use super::super::diff::{self, Change};
use super::super::document::{Entry, Kind, unknown};
use super::{Planner, Step};
use crate::http::connections::{CreateConnection, change};
use crate::store::connections::ConnectionRow;

/// In the place of a secret that is missing, so that nothing else is said of it.
const MISSING: &str = "missing-secret";

impl Planner<'_> {
    pub(super) fn add_connection(&mut self, mut entry: Entry) {
        let name = entry.text("name").unwrap_or_default().to_owned();
        let stored = self.existing.connections.iter().find(|row| row.name == name).cloned();
        let Some(secrets) = self.secrets(stored.as_ref(), &entry) else { return };
        if !name.is_empty() && !self.is_first(Kind::Connection, &name, &entry.place) {
            return;
        }
        let notes = self.keep(&mut entry, stored.as_ref(), secrets.reveal());
        let addresses = &self.context.addresses;
        let Some(wanted) = self.read(&entry, |json| change::read(json, addresses)) else { return };
        for (setting, near) in change::unknown_settings(&wanted.provider, &wanted.settings) {
            self.problems.push(entry.place.below(&format!("settings.{setting}")).problem(unknown(near)));
        }
        if stored.as_ref().is_some_and(|row| row.provider != wanted.provider) {
            let words = "cannot be changed: give the connection another name, which creates another";
            self.problems.push(entry.place.below("provider").problem(words));
        }
        let id = self.connections.ids.get(&name).copied().unwrap_or_default();
        let mut row = ConnectionRow::new(
            ConnectionId::from_uuid(id),
            self.context.tenant,
            name.clone(),
            wanted.provider.clone(),
            self.context.now,
        );
        row.settings.0 = wanted.settings.clone();
        self.rows.insert(ConnectionId::from_uuid(id), row);
        let changes = stored.as_ref().map(|row| changes(row, secrets.reveal(), &wanted)).unwrap_or_default();
        self.plan.connections.push(Step { place: entry.place, name, id, wanted, stored, changes, notes });
    }

    /// The stored credentials of a connection, if there are any.
    fn secrets(&mut self, stored: Option<&ConnectionRow>, entry: &Entry) -> Option<Private<Credentials>> {
        match stored.map(|row| (self.context.open)(row)) {
            None => Some(Private::default()),
            Some(Ok(secrets)) => Some(secrets),
            Some(Err(words)) => {
                self.problems.push(entry.place.below("credentials").problem(words));
                None
            }
        }
    }

    /// Keeps stored credentials whose variables are not set, unless they would be sent elsewhere. Returns notes.
    fn keep(&mut self, entry: &mut Entry, stored: Option<&ConnectionRow>, secrets: &Credentials) -> Vec<String> {
        let none = Map::new();
        let settings = entry.fields.get("settings").and_then(Value::as_object).unwrap_or(&none);
        let moves = stored.is_some_and(|row| change::goes_elsewhere(&row.settings, settings));
        let provider = entry.text("provider");
        let same = stored.filter(|row| Some(row.provider.as_str()) == provider);
        let (mut kept, mut values) = (Vec::new(), Vec::new());
        for unset in &entry.unset {
            let place = entry.place.below(&format!("credentials.{}", unset.credential));
            let missing = format!("the environment variable {} is not set", unset.variable);
            let secret = match secrets.get(&unset.credential).filter(|_| same.is_some()) {
                Some(secret) if !moves => {
                    kept.push(format!("credentials kept: {missing}"));
                    secret.as_str()
                }
                Some(_) => {
                    let words = format!("{missing}, and stored credentials are not sent to a new address: set it");
                    self.problems.push(place.problem(words));
                    MISSING
                }
                None => {
                    self.problems.push(place.problem(missing));
                    MISSING
                }
            };
            values.push((unset.credential.clone(), secret.into()));
        }
        if let Some(Value::Object(credentials)) = entry.fields.get_mut("credentials") {
            credentials.extend(values);
        }
        kept
    }
}

fn changes(row: &ConnectionRow, secrets: &Credentials, wanted: &CreateConnection) -> Vec<Change> {
    let shown = |settings: &Map<String, Value>, max_concurrent: Option<i64>| {
        let limits = json!({ "max_concurrent": max_concurrent });
        json!({ "settings": settings, "limits": limits })
    };
    let after = shown(&wanted.settings, wanted.limits.max_concurrent);
    let mut changes = diff::changes(&shown(&row.settings, row.max_concurrent), &after);
    let wanted = wanted.credentials.reveal();
    let gone = secrets.keys().filter(|name| !wanted.contains_key(*name));
    for name in wanted.keys().chain(gone) {
        let what = match (secrets.get(name), wanted.get(name)) {
            (None, _) => "added",
            (_, None) => "removed",
            (Some(before), Some(after)) if before != after => "changed",
            _ => continue,
        };
        changes.push(Change::secret(format!("credentials.{name}"), what));
    }
    changes
}
