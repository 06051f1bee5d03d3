//! Validates a request to place a call and resolves its references. Runs outside the transaction: a resource that is deleted in between
//! is still used.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Number, Value};
use switchhook_carriers::web;
use switchhook_core::Timestamp;
use switchhook_core::agent::{AgentConfig, FieldError, check_map};
use switchhook_core::call::{Call, Direction, Timing};
use switchhook_core::id::{AgentId, CallId, ConnectionId, NumberId, TenantId};
use switchhook_core::phone_number::PhoneNumber;
use switchhook_runtime::clock;
use uuid::Uuid;

use super::{PlaceCall, PlaceError};
use crate::calls::dial_permission::CalledNumber;
use crate::catalogue::{CATALOGUE, ConnectionKind};
use crate::store::calls::{CallRequest, CallRow, NewCall, Overrides};
use crate::store::dial_policy::DialAttempt;
use crate::store::numbers::NumberRow;
use crate::store::{Conn, Store, agents, numbers};

/// How far ahead a call may be scheduled.
const MAX_SCHEDULE: Duration = Duration::from_secs(90 * 24 * 3600);

/// A call to place, with the resources that its request names.
#[derive(Clone)]
pub(super) struct ResolvedCall {
    /// The random part of the call's id, on which its version depends.
    random: [u8; 10],
    agent: AgentId,
    agent_version: i64,
    /// Whether the request names the version.
    names_version: bool,
    route: CallRoute,
    to: CalledNumber,
    request: CallRequest,
    schedule_at: Option<Timestamp>,
    retention_days: Option<u32>,
}

/// The path of a call.
#[derive(Clone)]
struct CallRoute {
    direction: Direction,
    /// `None` for a call in a browser.
    number: Option<NumberId>,
    from: String,
    connection: ConnectionId,
    provider: String,
}

impl CallRoute {
    /// Returns the route to a browser, which needs no number and no connection.
    fn web(request: &PlaceCall) -> Result<Self, PlaceError> {
        let given = [
            ("from", request.from.is_some()),
            ("number_id", request.number.is_some()),
            ("schedule_at", request.schedule_at.is_some()),
        ];
        if let Some((field, _)) = given.into_iter().find(|(_, given)| *given) {
            return Err(PlaceError::field(field, "must be absent where `to` is `web`"));
        }
        Ok(Self {
            direction: Direction::Web,
            number: None,
            from: PhoneNumber::web().reveal().to_owned(),
            connection: ConnectionId::from_uuid(Uuid::nil()),
            provider: web::NAME.to_owned(),
        })
    }

    fn number(number: NumberRow) -> Self {
        Self {
            direction: Direction::Outbound,
            number: Some(NumberId::from_uuid(number.id)),
            from: number.number,
            connection: ConnectionId::from_uuid(number.connection_id),
            provider: number.provider,
        }
    }
}

impl ResolvedCall {
    /// Returns the agent and its version.
    pub(super) fn agent(&self) -> (AgentId, i64) {
        (self.agent, self.agent_version)
    }

    /// Returns the direction of the call.
    pub(super) fn direction(&self) -> Direction {
        self.route.direction
    }

    /// Returns the error if the agent or its version was deleted while the call was placed.
    pub(super) fn agent_deleted(&self) -> PlaceError {
        if self.names_version {
            return PlaceError::field("agent_version", "no such version of this agent");
        }
        PlaceError::field("agent_id", "was deleted or changed while the call was placed: send the request again")
    }

    /// Returns the attempt that the dial policy decides on if the call is placed at `now`.
    pub(super) fn attempt(&self, now: Timestamp) -> DialAttempt<'_> {
        self.to.attempt(self.dial_at(now))
    }

    /// Returns when it is dialled if placed at `now`.
    fn dial_at(&self, now: Timestamp) -> Timestamp {
        self.schedule_at.map_or(now, |at| at.max(now))
    }

    /// Returns the call's first row if placed at `now`.
    pub(super) fn row(self, tenant: TenantId, now: Timestamp) -> CallRow {
        let web = self.route.direction == Direction::Web;
        let due_at = if web { now + web::CONNECT_WITHIN } else { self.dial_at(now) };
        let new = NewCall {
            id: CallId::new(now, self.random),
            tenant,
            direction: self.route.direction,
            agent: self.agent,
            agent_version: self.agent_version,
            number: self.route.number,
            connection: self.route.connection,
            provider: self.route.provider,
            from: self.route.from,
            to: self.to.number().reveal().to_owned(),
            request: self.request,
            created_at: now,
            due_at,
            retention_days: self.retention_days,
        };
        let begin = if web { Call::web } else { Call::outbound };
        new.row(begin(now, due_at, Timing::default()))
    }
}

/// Resolves the resources that the request names and validates its fields.
pub(super) async fn find(
    store: &Store,
    tenant: TenantId,
    request: &PlaceCall,
    now: Timestamp,
) -> Result<ResolvedCall, PlaceError> {
    let mut conn = store.read().await?;
    let random = clock::random();
    let call = CallId::new(now, random);
    let agent = agents::for_call(&mut conn, tenant, request.agent, request.agent_version, call).await?;
    let Some(agent) = agent else { return Err(not_found(&mut conn, tenant, request).await?) };
    let route = if request.to.is_web() {
        CallRoute::web(request)?
    } else {
        CallRoute::number(caller_number(&mut conn, tenant, request).await?)
    };
    drop(conn);
    let (call_request, errors) = call_request(request, &agent.config);
    if !errors.is_empty() {
        return Err(PlaceError::Invalid(errors));
    }
    if request.schedule_at.is_some_and(|at| at > now + MAX_SCHEDULE) {
        return Err(PlaceError::field("schedule_at", "must be at most 90 days from now"));
    }
    Ok(ResolvedCall {
        random,
        agent: request.agent,
        agent_version: agent.version,
        names_version: request.agent_version.is_some(),
        to: CalledNumber::over(&route.provider, request.to.clone()),
        route,
        request: call_request,
        schedule_at: request.schedule_at,
        retention_days: agent.config.privacy.retention_days,
    })
}

/// Returns the error of a request that names an agent or a version that does not exist.
async fn not_found(conn: &mut Conn, tenant: TenantId, request: &PlaceCall) -> Result<PlaceError, sqlx::Error> {
    Ok(match agents::get(conn, tenant, request.agent).await? {
        None => PlaceError::field("agent_id", "no such agent"),
        Some(_) => PlaceError::field("agent_version", "no such version of this agent"),
    })
}

/// Finds the number to call from: the named one, or the only one.
async fn caller_number(conn: &mut Conn, tenant: TenantId, request: &PlaceCall) -> Result<NumberRow, PlaceError> {
    if let Some(id) = request.number {
        let number = numbers::get(conn, tenant, id).await?;
        let number = number.ok_or_else(|| PlaceError::field("number_id", "no such number"))?;
        return match &request.from {
            Some(from) if from.reveal() != number.number => {
                Err(PlaceError::field("from", "is not the number of number_id"))
            }
            _ => Ok(number),
        };
    }
    let mut found = match &request.from {
        Some(from) => numbers::by_number(conn, tenant, from.reveal()).await?,
        None => numbers::of_providers(conn, tenant, &usable_carriers(), 2).await?, // Two would be ambiguous.
    };
    match (found.pop(), found.is_empty(), &request.from) {
        (Some(only), true, _) => Ok(only),
        (Some(_), false, Some(_)) => {
            Err(PlaceError::field("from", "is in several connections: select one with number_id"))
        }
        (Some(_), false, None) => Err(PlaceError::field("from", "is required: you have several numbers")),
        (None, _, Some(_)) => Err(PlaceError::field("from", "is not one of your numbers")),
        (None, _, None) => Err(PlaceError::field("from", "is required: you have no number to call from yet")),
    }
}

/// Returns the carriers that this version can dial with.
fn usable_carriers() -> Vec<&'static str> {
    CATALOGUE.iter().filter(|one| one.usable && one.offers(ConnectionKind::Carrier)).map(|one| one.name).collect()
}

fn call_request(request: &PlaceCall, agent: &AgentConfig) -> (CallRequest, Vec<FieldError>) {
    let mut errors = Vec::new();
    let mut merged = agent.clone();
    if let Some(limits) = &request.overrides.limits {
        let seconds = &mut merged.limits;
        seconds.max_duration_seconds = limits.max_duration_seconds.unwrap_or(seconds.max_duration_seconds);
        seconds.ring_timeout_seconds = limits.ring_timeout_seconds.unwrap_or(seconds.ring_timeout_seconds);
    }
    if let Some(seconds) = request.ring_timeout_seconds {
        merged.limits.ring_timeout_seconds = seconds;
    }
    if let Some(answering_machine) = &request.answering_machine {
        merged.answering_machine = answering_machine.clone();
    }
    let greeting = request.overrides.greeting.clone();
    if let Some(greeting) = &greeting {
        merged.greeting.text.clone_from(greeting);
    }
    if let Some(instructions) = &request.overrides.instructions {
        merged.instructions.clone_from(instructions);
    }
    errors.extend(merged.validate_overrides().into_iter().map(|error| match error.path.strip_prefix("limits.") {
        None if matches!(error.path.as_str(), "greeting.text" | "instructions") => {
            FieldError::new(format!("overrides.{}", error.path), error.message)
        }
        Some("ring_timeout_seconds") if request.ring_timeout_seconds.is_some() => {
            FieldError::new("ring_timeout_seconds", error.message)
        }
        Some(_) => FieldError::new(format!("overrides.{}", error.path), error.message),
        None => error,
    }));
    let variables = variables(request, agent, &mut errors);
    errors.extend(check_map("metadata", request.metadata.len(), &request.metadata));
    let overrides = Overrides {
        greeting,
        instructions: request.overrides.instructions.clone(),
        limits: request.overrides.limits.is_some().then_some(merged.limits),
    };
    let call_request = CallRequest {
        variables,
        metadata: request.metadata.clone(),
        overrides,
        answering_machine: request.answering_machine.clone(),
        ring_timeout_seconds: request.ring_timeout_seconds,
        schedule_at: request.schedule_at,
    };
    (call_request, errors)
}

/// Returns whether a number is beyond the 64 bit integers: the parser rounds those.
fn is_rounded(number: &Number) -> bool {
    const LOWEST: f64 = i64::MIN as f64;
    const ABOVE: f64 = u64::MAX as f64;
    number.is_f64() && number.as_f64().is_some_and(|number| number <= LOWEST || number >= ABOVE)
}

fn variables(request: &PlaceCall, agent: &AgentConfig, errors: &mut Vec<FieldError>) -> BTreeMap<String, String> {
    let mut variables = BTreeMap::new();
    for (name, value) in &request.variables {
        match value {
            Value::String(text) => drop(variables.insert(name.clone(), text.clone())),
            Value::Number(number) if is_rounded(number) => {
                let message = "is beyond the integers of 64 bits and would be rounded: send it as a string";
                errors.push(FieldError::new(format!("variables.{name}"), message));
            }
            Value::Number(_) | Value::Bool(_) => drop(variables.insert(name.clone(), value.to_string())),
            _ => errors.push(FieldError::new(format!("variables.{name}"), "must be a string, a number or a boolean")),
        }
    }
    for (name, variable) in &agent.variables {
        if variable.required && variable.default.is_none() && !variables.contains_key(name) {
            errors.push(FieldError::new(format!("variables.{name}"), "is required by the agent"));
        }
    }
    errors.extend(check_map("variables", request.variables.len(), &request.variables));
    variables
}
