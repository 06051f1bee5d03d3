//! Request metrics and `GET /metrics`.

use std::sync::OnceLock;
use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::header::CONTENT_TYPE;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use super::HttpState;
use crate::telemetry;

/// Seconds from a request's arrival to the start of its response, by method, route and status.
const DURATION: &str = "switchhook_http_request_duration_seconds";
/// Log lines that could not be written to stderr.
const LINES_LOST: &str = "switchhook_log_lines_lost_total";
/// Buckets in seconds, from a key lookup to a slow provider.
const BUCKETS: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// Returns the process's metrics recorder and installs it on first use.
pub(super) fn recorder() -> PrometheusHandle {
    static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();
    RECORDER
        .get_or_init(|| {
            let recorder = PrometheusBuilder::new()
                .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), BUCKETS)
                .expect("there are buckets")
                .build_recorder();
            let handle = recorder.handle();
            if metrics::set_global_recorder(recorder).is_err() {
                tracing::warn!("another metrics recorder is installed: /metrics stays empty");
            }
            switchhook_net::queues::describe();
            metrics::describe_counter!(LINES_LOST, "Log lines that could not be written to stderr");
            metrics::describe_counter!(telemetry::LINES_DROPPED, "Log lines of libraries that log too much");
            metrics::describe_histogram!(
                DURATION,
                metrics::Unit::Seconds,
                "Time from a request's arrival to the start of its response"
            );
            handle
        })
        .clone()
}

/// Middleware: measures each request under its route pattern, never under a client-supplied path.
pub(super) async fn measure(request: Request, next: Next) -> Response {
    let start = Instant::now();
    let method = method_label(request.method());
    let route = request.extensions().get::<MatchedPath>().map_or("other".to_owned(), |path| path.as_str().to_owned());
    let response = next.run(request).await;
    let status = response.status().as_u16().to_string();
    metrics::histogram!(DURATION, "method" => method, "route" => route, "status" => status)
        .record(start.elapsed().as_secs_f64());
    response
}

/// Unknown methods share one label, so that clients cannot create time series.
fn method_label(method: &axum::http::Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "POST", "PATCH", "DELETE", "PUT", "HEAD", "OPTIONS"];
    KNOWN.into_iter().find(|known| method.as_str() == *known).unwrap_or("other")
}

/// Returns all metrics in Prometheus text format.
pub(super) async fn show(state: HttpState) -> impl IntoResponse {
    metrics::counter!(LINES_LOST).absolute(crate::stderr::lost());
    telemetry::count_dropped();
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], state.metrics.render())
}
