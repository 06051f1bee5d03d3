//! Compares what files describe with what there is. Nothing here touches the database.

mod connections;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Value, json};
use switchhook_core::Timestamp;
use switchhook_core::agent::{AgentConfig, FieldError, Traffic};
use switchhook_core::id::{ConnectionId, TenantId};
use switchhook_core::private::{Credentials, Private};
use switchhook_core::webhook::{AddressPolicy, EventFilter};
use uuid::Uuid;

use super::diff::{self, Change};
use super::document::{Entry, Kind};
use super::existing::Existing;
use super::fields::unknown_field;
use super::names::{self, Names};
use super::problem::{Place, Problem};
use crate::http::agents::{self, WantedAgent};
use crate::http::connections::CreateConnection;
use crate::http::error::ApiError;
use crate::http::extract::{self, Parsed};
use crate::http::numbers::{self, CreateNumber};
use crate::http::webhooks::{CreateWebhook, Endpoint};
use crate::store::agents::AgentRow;
use crate::store::connections::ConnectionRow;
use crate::store::numbers::NumberRow;
use crate::store::webhooks::WebhookRow;

/// The dependencies of a plan beside files and rows.
pub(super) struct Context<'a> {
    pub(super) tenant: TenantId,
    /// Where connections may lead.
    pub(super) addresses: AddressPolicy,
    pub(super) now: Timestamp,
    pub(super) new_id: &'a dyn Fn() -> Uuid,
    /// Opens the credentials of a connection.
    pub(super) open: &'a dyn Fn(&ConnectionRow) -> Result<Private<Credentials>, String>,
}

/// The action of `apply` on one resource.
pub(super) struct Step<T, R> {
    pub(super) place: Place,
    pub(super) name: String,
    /// Nil for numbers and webhooks that are new.
    pub(super) id: Uuid,
    pub(super) wanted: T,
    pub(super) stored: Option<R>,
    /// How it differs from what is stored.
    pub(super) changes: Vec<Change>,
    pub(super) notes: Vec<String>,
}

impl<T, R> Step<T, R> {
    pub(super) fn is_new(&self) -> bool {
        self.stored.is_none()
    }

    pub(super) fn is_unchanged(&self) -> bool {
        self.stored.is_some() && self.changes.is_empty()
    }
}

/// Every change that `apply` makes.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) connections: Vec<Step<CreateConnection, ConnectionRow>>,
    pub(super) agents: Vec<Step<WantedAgent, AgentRow>>,
    pub(super) numbers: Vec<Step<CreateNumber, NumberRow>>,
    pub(super) webhooks: Vec<Step<Endpoint, WebhookRow>>,
    /// Resources that exist and are in no file.
    pub(super) others: Vec<(Kind, String)>,
}

/// Plans how what there is becomes what the entries describe.
///
/// # Errors
/// Everything that is wrong with the entries.
pub(super) fn plan(entries: &[Entry], existing: &Existing, context: &Context<'_>) -> Result<Plan, Vec<Problem>> {
    let mut planner = Planner::new(entries, existing, context);
    for kind in Kind::ALL {
        for entry in entries.iter().filter(|entry| entry.kind == kind) {
            planner.add(entry.clone());
        }
    }
    if !planner.problems.is_empty() {
        return Err(planner.problems);
    }
    planner.plan.others = others(&planner.plan, existing);
    Ok(planner.plan)
}

struct Planner<'a> {
    existing: &'a Existing,
    context: &'a Context<'a>,
    connections: Names,
    agents: Names,
    /// The connections as they will be, but for their credentials.
    rows: HashMap<ConnectionId, ConnectionRow>,
    seen: HashMap<(Kind, String), Place>,
    plan: Plan,
    problems: Vec<Problem>,
}

impl<'a> Planner<'a> {
    fn new(entries: &[Entry], existing: &'a Existing, context: &'a Context<'a>) -> Self {
        let named = |kind: Kind, known: Vec<(&String, Uuid)>| {
            let mut ids: BTreeMap<String, Uuid> = known.into_iter().map(|(name, id)| (name.clone(), id)).collect();
            for name in entries.iter().filter(|entry| entry.kind == kind).filter_map(|entry| entry.text("name")) {
                ids.entry(name.to_owned()).or_insert_with(context.new_id);
            }
            Names { word: kind.word(), ids }
        };
        let connections = existing.connections.iter();
        Self {
            existing,
            context,
            connections: named(Kind::Connection, connections.clone().map(|row| (&row.name, row.id)).collect()),
            agents: named(Kind::Agent, existing.agents.iter().map(|row| (&row.name, row.id)).collect()),
            rows: connections.map(|row| (ConnectionId::from_uuid(row.id), row.clone())).collect(),
            seen: HashMap::new(),
            plan: Plan::default(),
            problems: Vec::new(),
        }
    }

    fn add(&mut self, entry: Entry) {
        match entry.kind {
            Kind::Connection => self.add_connection(entry),
            Kind::Agent => self.add_agent(entry),
            Kind::Number => self.add_number(entry),
            Kind::Webhook => self.add_webhook(entry),
        }
    }

    /// Whether nothing of this kind and name was there before; else that is a problem.
    fn is_first(&mut self, kind: Kind, name: &str, place: &Place) -> bool {
        if let Some(before) = self.seen.get(&(kind, name.to_owned())) {
            let words = format!("the {} {name:?} is also at {before}", kind.word());
            self.problems.push(place.problem(words));
            return false;
        }
        self.seen.insert((kind, name.to_owned()), place.clone());
        true
    }

    /// Parses an entry; adds problems and returns `None` if it is wrong.
    fn read<T>(&mut self, entry: &Entry, read: impl FnOnce(&[u8]) -> Result<Parsed<T>, ApiError>) -> Option<T> {
        let json = Value::Object(entry.fields.clone()).to_string();
        match read(json.as_bytes()) {
            Ok(Parsed { value, unknown }) => {
                let unknown =
                    unknown.iter().map(|path| entry.place.below(path).problem(unknown_field(entry.kind, path)));
                self.problems.extend(unknown);
                Some(value)
            }
            Err(error) => {
                self.problems.extend(entry.place.problems(&error));
                None
            }
        }
    }

    fn refuse(&mut self, place: &Place, errors: Vec<FieldError>) {
        if !errors.is_empty() {
            self.problems.extend(place.problems(&ApiError::invalid_fields(errors)));
        }
    }

    fn add_agent(&mut self, mut entry: Entry) {
        names::resolve_agent(&mut entry.fields, &self.connections, &entry.place, &mut self.problems);
        let named = entry.text("name").unwrap_or_default().to_owned();
        if !named.is_empty() && !self.is_first(Kind::Agent, &named, &entry.place) {
            return;
        }
        let Some(wanted) = self.read(&entry, agents::read) else { return };
        let (name, config) = (wanted.name.clone(), &wanted.config);
        let ids: HashMap<_, _> = config.connections().into_iter().collect();
        // A connection that is missing here is missing in `names`, or its own entry is wrong: both are errors already.
        let is_known = |path: &String| ids.get(path).is_none_or(|id| self.rows.contains_key(id));
        let mut unfit = agents::unfit_connections(config, |id| self.rows.get(&id));
        unfit.retain(|error| is_known(&error.path));
        self.refuse(&entry.place, unfit);
        let stored = self.existing.agents.iter().find(|row| row.name == name).cloned();
        let changes = match &stored {
            Some(row) if row.config.0 != *config || row.traffic() != wanted.traffic.as_ref() => {
                let by_id = self.connection_names();
                let before = shown(&row.config.0, row.traffic(), &by_id);
                diff::changes(&before, &shown(config, wanted.traffic.as_ref(), &by_id))
            }
            _ => Vec::new(),
        };
        let id = self.agents.ids.get(&name).copied().unwrap_or_default();
        self.plan.agents.push(Step { place: entry.place, name, id, wanted, stored, changes, notes: Vec::new() });
    }

    fn add_number(&mut self, mut entry: Entry) {
        let place = entry.place.clone();
        names::resolve_number(&mut entry.fields, &self.connections, &self.agents, &place, &mut self.problems);
        let Some(wanted) = self.read(&entry, |json| extract::parse_part::<CreateNumber>(json, &[])) else { return };
        let connection = self.rows.get(&ConnectionId::from_uuid(wanted.connection_id));
        let mut unfit = numbers::unfit(&wanted, connection, true);
        let missing = connection.is_none();
        unfit.retain(|error| !missing || error.path != "connection_id");
        let on = connection.map(|row| row.name.clone()).unwrap_or_default();
        self.refuse(&entry.place, unfit);
        let name = format!("{} on {on}", wanted.number.reveal());
        if missing || !self.is_first(Kind::Number, &name, &entry.place) {
            return;
        }
        let same = |row: &&NumberRow| row.number == wanted.number.reveal() && row.connection_id == wanted.connection_id;
        let stored = self.existing.numbers.iter().find(same).cloned();
        let changes = stored.as_ref().map(|row| self.number_changes(row, &wanted)).unwrap_or_default();
        let id = stored.as_ref().map(|row| row.id).unwrap_or_default();
        self.plan.numbers.push(Step { place: entry.place, name, id, wanted, stored, changes, notes: Vec::new() });
    }

    fn number_changes(&self, row: &NumberRow, wanted: &CreateNumber) -> Vec<Change> {
        let agents: HashMap<Uuid, &String> = self.agents.ids.iter().map(|(name, id)| (*id, name)).collect();
        let name_of = |id: Uuid| agents.get(&id).map_or_else(|| id.to_string(), |name| (*name).clone());
        let shown = |label: Option<&String>, agent: Option<Uuid>| {
            let agent = agent.map(name_of);
            json!({ "label": label, "agent": agent })
        };
        diff::changes(
            &shown(row.label.as_ref(), row.inbound_agent_id),
            &shown(wanted.label.as_ref(), wanted.inbound_agent_id),
        )
    }

    fn add_webhook(&mut self, entry: Entry) {
        let Some(request) = self.read(&entry, |json| extract::parse_part::<CreateWebhook>(json, &[])) else { return };
        let wanted = match Endpoint::read(request) {
            Ok(endpoint) => endpoint,
            Err(error) => return self.problems.extend(entry.place.problems(&error)),
        };
        if !self.is_first(Kind::Webhook, &wanted.url, &entry.place) {
            return;
        }
        let same: Vec<_> = self.existing.webhooks.iter().filter(|row| row.url == wanted.url).collect();
        if same.len() > 1 {
            let words = format!("there are {} webhooks with this URL: delete all but one first", same.len());
            return self.problems.push(entry.place.below("url").problem(words));
        }
        let stored = same.first().map(|row| (*row).clone());
        let shown = |events: &EventFilter, enabled: bool| json!({ "events": events, "enabled": enabled });
        let wished = shown(&wanted.events, wanted.enabled);
        let changes = stored.as_ref().map(|row| diff::changes(&shown(&row.events.0, row.enabled), &wished));
        let id = stored.as_ref().map(|row| row.id).unwrap_or_default();
        let name = wanted.url.clone();
        let changes = changes.unwrap_or_default();
        self.plan.webhooks.push(Step { place: entry.place, name, id, wanted, stored, changes, notes: Vec::new() });
    }

    /// The names of connections by id.
    fn connection_names(&self) -> HashMap<Uuid, String> {
        self.connections.ids.iter().map(|(name, id)| (*id, name.clone())).collect()
    }
}

/// Returns the resources that exist and are in no file.
fn others(plan: &Plan, existing: &Existing) -> Vec<(Kind, String)> {
    let planned: HashSet<Uuid> = [
        plan.connections.iter().map(|step| step.id).collect::<Vec<_>>(),
        plan.agents.iter().map(|step| step.id).collect(),
        plan.numbers.iter().map(|step| step.id).collect(),
        plan.webhooks.iter().map(|step| step.id).collect(),
    ]
    .concat()
    .into_iter()
    .collect();
    let names: HashMap<Uuid, &String> = existing.connections.iter().map(|row| (row.id, &row.name)).collect();
    let on = |row: &NumberRow| {
        let connection = names.get(&row.connection_id).map_or("", |name| name.as_str());
        format!("{} on {connection}", row.number)
    };
    let mut others: Vec<_> = [
        existing.connections.iter().map(|row| (row.id, Kind::Connection, row.name.clone())).collect::<Vec<_>>(),
        existing.agents.iter().map(|row| (row.id, Kind::Agent, row.name.clone())).collect(),
        existing.numbers.iter().map(|row| (row.id, Kind::Number, on(row))).collect(),
        existing.webhooks.iter().map(|row| (row.id, Kind::Webhook, row.url.clone())).collect(),
    ]
    .concat()
    .into_iter()
    .filter(|(id, ..)| !planned.contains(id))
    .map(|(_, kind, name)| (kind, name))
    .collect();
    others.sort_by(|(one, a), (other, b)| (*one as usize, a).cmp(&(*other as usize, b)));
    others
}

/// An agent's fields with names of connections.
fn shown(config: &AgentConfig, traffic: Option<&Traffic>, names: &HashMap<Uuid, String>) -> Value {
    let mut fields = names::as_json(config);
    names::name_connections(&mut fields, names);
    fields.insert("traffic".to_owned(), json!(traffic));
    Value::Object(fields)
}

#[cfg(test)]
mod tests;
