//! `GET /v1/usage`.

use axum::Json;
use serde::{Deserialize, Serialize};
use switchhook_carriers::web;
use switchhook_core::Timestamp;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::span::Interval;
use super::{Cost, ResponseTimes};
use crate::http::HttpState;
use crate::http::auth::Tenant;
use crate::http::calls::CarrierName;
use crate::http::error::{ApiError, CommonErrors};
use crate::http::extract::Params;
use crate::store::statistics::{self, Part, Sums};

/// Which calls are counted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Query {
    /// Ended at or after this time, rounded down to a day (UTC). Default: 30 days before `before`.
    #[param(value_type = Option<String>, format = DateTime)]
    after: Option<Timestamp>,
    /// Ended before this time, rounded up. Default: now.
    #[param(value_type = Option<String>, format = DateTime)]
    before: Option<Timestamp>,
}

/// Calls, minutes and cost of a time span.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Usage)]
pub(super) struct UsageStatistics {
    /// Start of the first day.
    #[schema(value_type = String, format = DateTime)]
    after: Timestamp,
    /// End of the last day.
    #[schema(value_type = String, format = DateTime)]
    before: Timestamp,
    /// Totals.
    totals: Used,
    /// All days, oldest first.
    days: Vec<Day>,
    /// By agent, most minutes first, at most 100.
    agents: Vec<UsedByAgent>,
    /// By carrier connection, most minutes first, at most 100.
    connections: Vec<UsedByConnection>,
}

/// Calls, minutes and cost.
#[derive(Debug, Serialize, ToSchema)]
struct Used {
    /// Calls that ended.
    #[schema(minimum = 0, example = 12)]
    calls: i64,
    #[serde(flatten)]
    cost: Cost,
}

impl From<Sums> for Used {
    fn from(sums: Sums) -> Self {
        Self { calls: sums.completed + sums.failed, cost: sums.into() }
    }
}

/// A day.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UsedByDay)]
struct Day {
    /// Start of the day (UTC).
    #[schema(value_type = String, format = DateTime)]
    start: Timestamp,
    #[serde(flatten)]
    used: Used,
}

/// An agent.
#[derive(Debug, Serialize, ToSchema)]
struct UsedByAgent {
    /// The agent.
    agent_id: Uuid,
    /// `null` if deleted.
    name: Option<String>,
    #[serde(flatten)]
    used: Used,
    /// Response times.
    response_ms: ResponseTimes,
}

/// A connection.
#[derive(Debug, Serialize, ToSchema)]
struct UsedByConnection {
    /// `null` for browser calls.
    connection_id: Option<Uuid>,
    /// `null` if deleted and for browser calls.
    name: Option<String>,
    /// `null` if deleted.
    #[schema(value_type = Option<CarrierName>)]
    provider: Option<String>,
    #[serde(flatten)]
    used: Used,
}

/// Get usage.
///
/// Returns calls, minutes and cost per day, by agent and by connection. Calls count on the day they end. At most 366 days.
#[utoipa::path(
    get, path = "/usage", operation_id = "show_usage", tag = "Statistics", params(Query),
    responses(
        (status = 200, description = "The usage", body = UsageStatistics),
        CommonErrors,
    )
)]
pub(super) async fn show(
    state: HttpState,
    tenant: Tenant,
    Params(query): Params<Query>,
) -> Result<Json<UsageStatistics>, ApiError> {
    let span = Interval::Day.span(tenant, query.after, query.before, None, state.clock.now())?;
    let mut conn = state.store.read().await?;
    let days = statistics::by_interval(&mut conn, span, Interval::Day.micros()).await?;
    let agents = statistics::by_agent(&mut conn, span).await?;
    let responses = statistics::responses_by_agent(&mut conn, span).await?;
    let connections = statistics::by_connection(&mut conn, span).await?;
    drop(conn);
    let total = days.values().fold(Sums::default(), |total, sums| total + *sums);
    let day = |start: Timestamp| Day { start, used: days.get(&start.as_micros()).copied().unwrap_or_default().into() };
    let agent = |part: Part| UsedByAgent {
        response_ms: responses.get(&part.id).map(ResponseTimes::from).unwrap_or_default(),
        agent_id: part.id,
        name: part.name,
        used: part.sums.into(),
    };
    let connection = |part: Part| UsedByConnection {
        connection_id: (!part.id.is_nil()).then_some(part.id),
        name: part.name,
        provider: if part.id.is_nil() { Some(web::NAME.to_owned()) } else { part.provider },
        used: part.sums.into(),
    };
    Ok(Json(UsageStatistics {
        after: span.after,
        before: span.before,
        totals: total.into(),
        days: Interval::Day.starts(&span).map(day).collect(),
        agents: agents.into_iter().map(agent).collect(),
        connections: connections.into_iter().map(connection).collect(),
    }))
}
