//! `/v1/statistics` and `/v1/usage`: what calls came to, by time, agent and connection.

mod span;
mod usage;

use axum::Json;
use serde::{Deserialize, Serialize};
use switchhook_core::Timestamp;
use switchhook_core::histogram::Histogram;
use switchhook_core::id::AgentId;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use self::span::Interval;
use super::HttpState;
use super::auth::Tenant;
use super::error::{ApiError, CommonErrors};
use super::extract::Params;
use crate::store::statistics::{self, Sums};

/// The routes below `/v1`.
pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new().routes(routes!(show)).routes(routes!(usage::show))
}

/// Which calls are counted.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Query {
    /// Bucket length.
    #[serde(default)]
    interval: Interval,
    /// Ended at or after this time, rounded down to the interval (UTC). Default: 24 hours before `before`; with `day`, 30 days.
    #[param(value_type = Option<String>, format = DateTime)]
    after: Option<Timestamp>,
    /// Ended before this time, rounded up. Default: now.
    #[param(value_type = Option<String>, format = DateTime)]
    before: Option<Timestamp>,
    /// Of this agent only.
    agent_id: Option<Uuid>,
}

/// Calls that ended in a time span.
#[derive(Debug, Serialize, ToSchema)]
struct Statistics {
    /// Bucket length.
    interval: Interval,
    /// Start of the first bucket.
    #[schema(value_type = String, format = DateTime)]
    after: Timestamp,
    /// End of the last bucket.
    #[schema(value_type = String, format = DateTime)]
    before: Timestamp,
    /// All intervals, oldest first.
    buckets: Vec<Bucket>,
    /// Totals.
    totals: Figures,
}

/// Calls that ended in an interval.
#[derive(Debug, Serialize, ToSchema)]
struct Bucket {
    /// Start of the interval.
    #[schema(value_type = String, format = DateTime)]
    start: Timestamp,
    #[serde(flatten)]
    figures: Figures,
}

/// Figures of ended calls.
#[derive(Debug, Serialize, ToSchema)]
struct Figures {
    /// Calls that ended.
    #[schema(minimum = 0, example = 12)]
    calls: i64,
    /// Calls that ended normally.
    #[schema(minimum = 0, example = 10)]
    completed: i64,
    /// Calls that failed.
    #[schema(minimum = 0, example = 2)]
    failed: i64,
    #[serde(flatten)]
    cost: Cost,
    /// Response times.
    response_ms: ResponseTimes,
}

/// Minutes and cost of ended calls.
#[derive(Debug, Serialize, ToSchema)]
struct Cost {
    /// Minutes from answer to end.
    #[schema(minimum = 0, example = 34.5)]
    minutes: f64,
    /// Cost by the price table; `null` if nothing used has a price.
    #[schema(minimum = 0, example = 0.42)]
    cost_usd: Option<f64>,
    /// Whether some usage has no price, so the cost is incomplete.
    unpriced: bool,
}

/// Response times in milliseconds, within 5 %.
#[derive(Debug, Default, Serialize, ToSchema)]
struct ResponseTimes {
    /// Median.
    #[schema(example = 461)]
    p50: Option<u64>,
    /// 95th percentile.
    #[schema(example = 812)]
    p95: Option<u64>,
    /// Number measured.
    #[schema(example = 88)]
    n: u64,
}

impl From<&Histogram> for ResponseTimes {
    fn from(histogram: &Histogram) -> Self {
        Self { p50: histogram.percentile(50), p95: histogram.percentile(95), n: histogram.total() }
    }
}

impl From<Sums> for Cost {
    fn from(sums: Sums) -> Self {
        let unpriced = sums.unpriced > 0;
        Self {
            minutes: hundredths(sums.seconds as f64 / 60.0),
            cost_usd: (sums.cost_micros > 0 || !unpriced).then(|| sums.cost_micros as f64 / 1_000_000.0),
            unpriced,
        }
    }
}

fn hundredths(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

impl Figures {
    fn new(sums: Sums, responses: Option<&Histogram>) -> Self {
        Self {
            calls: sums.completed + sums.failed,
            completed: sums.completed,
            failed: sums.failed,
            cost: sums.into(),
            response_ms: responses.map(ResponseTimes::from).unwrap_or_default(),
        }
    }
}

/// Get call statistics.
///
/// Returns figures of ended calls by hour or day. Calls count when they end. At most 31 days by hour, 366 by day.
#[utoipa::path(
    get, path = "/statistics", operation_id = "show_statistics", tag = "Statistics", params(Query),
    responses(
        (status = 200, description = "The statistics", body = Statistics),
        CommonErrors,
    )
)]
async fn show(state: HttpState, tenant: Tenant, Params(query): Params<Query>) -> Result<Json<Statistics>, ApiError> {
    let interval = query.interval;
    let agent = query.agent_id.map(AgentId::from_uuid);
    let span = interval.span(tenant, query.after, query.before, agent, state.clock.now())?;
    let mut conn = state.store.read().await?;
    let sums = statistics::by_interval(&mut conn, span, interval.micros()).await?;
    let responses = statistics::responses_by_interval(&mut conn, span, interval.micros()).await?;
    drop(conn);
    let mut all = Histogram::default();
    responses.values().flat_map(Histogram::bins).for_each(|(bin, count)| all.add(bin, count));
    let total = sums.values().fold(Sums::default(), |total, sums| total + *sums);
    let buckets = interval.starts(&span).map(|start| {
        let sums = sums.get(&start.as_micros()).copied().unwrap_or_default();
        Bucket { start, figures: Figures::new(sums, responses.get(&start.as_micros())) }
    });
    Ok(Json(Statistics {
        interval,
        after: span.after,
        before: span.before,
        buckets: buckets.collect(),
        totals: Figures::new(total, Some(&all)),
    }))
}
