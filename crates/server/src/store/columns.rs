//! The columns that each row type reads.
//!
//! PostgreSQL prepares a statement once per connection. `SELECT *` and `RETURNING *` fail there, "cached plan must not change result
//! type", as soon as a newer node has added a column, so statements name their columns.

/// The columns of a table's row type, as a literal for `concat!`.
macro_rules! columns {
    (calls) => {
        "id, tenant_id, status, direction, agent_id, agent_version, number_id, connection_id, provider, from_number, \
         to_number, request, created_at, due_at, deadline, dialing_at, ringing_at, answered_at, ended_at, end_reason, \
         ended_by, answered_by, error_code, error, carrier_call_id, carrier_cause, carrier_code, sip_code, \
         hung_up_by, hangup_reported, hangup_requested_at, duration_seconds, turns, summary, outcome, analysis, \
         latency, usage, recording, retention_days, event_count, lease_owner, lease_token"
    };
    (deliveries) => {
        "id, webhook_id, call_id, event, state, attempts, next_attempt_at, created_at"
    };
    (webhooks) => {
        "id, tenant_id, url, events, enabled, disabled_reason, proven, secret, previous_secret, previous_until, earlier_secret, \
         earlier_until, \
         failing_since, created_at, updated_at"
    };
    (connections) => {
        "id, tenant_id, name, provider, settings, credentials, hints, max_concurrent, created_at, updated_at"
    };
    (people) => {
        "id, tenant_id, issuer, subject, email, email_verified, name, role, created_at, last_seen_at, home, invitation, \
         invited_by, expires_at"
    };
    (numbers) => {
        "id, tenant_id, number, label, connection_id, inbound_agent_id, created_at, updated_at"
    };
    (tenants) => {
        "id, name, active, rate_per_minute, concurrent_calls, monthly_calls, dial_allow, dial_deny, \
         per_number_per_day, cost_per_day_micros, outbound_allow, stored_limits, created_at, \
         updated_at"
    };
}
pub(crate) use columns;
