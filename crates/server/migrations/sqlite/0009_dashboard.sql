-- What people look at: versions of agents, what calls came to by the hour, what needs attention, and how each answer came about.

-- The name of the agent then; NULL where the agent was deleted before names were kept.
ALTER TABLE agent_versions ADD COLUMN name TEXT;
UPDATE agent_versions SET name = (SELECT name FROM agents WHERE agents.id = agent_versions.agent_id);

-- Ended calls by the hour (UTC), summed in the transaction that ends them, so that a figure costs what its time span is long.
CREATE TABLE call_sums (
    tenant_id           BLOB NOT NULL REFERENCES tenants (id),
    hour                INTEGER NOT NULL,  -- its beginning
    agent_id            BLOB NOT NULL,
    connection_id       BLOB NOT NULL,     -- of the carrier
    completed           INTEGER NOT NULL,
    failed              INTEGER NOT NULL,
    seconds             INTEGER NOT NULL,  -- answered
    cost_micros         INTEGER NOT NULL,  -- millionths of a dollar, of what has a price
    unpriced            INTEGER NOT NULL,  -- calls that used something without a price
    PRIMARY KEY (tenant_id, hour, agent_id, connection_id)
) WITHOUT ROWID;
INSERT INTO call_sums (tenant_id, hour, agent_id, connection_id, completed, failed, seconds, cost_micros, unpriced)
    SELECT tenant_id, COALESCE(ended_at, created_at) / 3600000000 * 3600000000, agent_id, connection_id,
        SUM(CASE WHEN status = 'completed' THEN 1 ELSE 0 END), SUM(CASE WHEN status = 'failed' THEN 1 ELSE 0 END),
        SUM(duration_seconds), SUM(CAST(COALESCE(json_extract(usage, '$.cost_usd'), 0) * 1000000 + 0.999 AS INTEGER)),
        SUM(COALESCE(json_extract(usage, '$.unpriced'), 0))
    FROM calls WHERE status IN ('completed', 'failed') GROUP BY 1, 2, 3, 4;

-- How long callers waited for an answer, as a histogram: bins of `core::histogram` and what fell into each.
CREATE TABLE response_times (
    tenant_id           BLOB NOT NULL REFERENCES tenants (id),
    hour                INTEGER NOT NULL,  -- its beginning
    agent_id            BLOB NOT NULL,
    bin                 INTEGER NOT NULL,
    responses           INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, hour, agent_id, bin)
) WITHOUT ROWID;

-- Connections whose credentials or settings were refused in a call, until a call succeeds with them, a test does, or they change.
CREATE TABLE connection_refusals (
    connection_id       BLOB PRIMARY KEY REFERENCES connections (id) ON DELETE CASCADE,
    tenant_id           BLOB NOT NULL REFERENCES tenants (id),
    since               INTEGER NOT NULL,  -- the first one
    calls               INTEGER NOT NULL,
    detail              TEXT NOT NULL      -- of the last one
);
CREATE INDEX connection_refusals_by_tenant ON connection_refusals (tenant_id, connection_id);

-- For those who follow all that happens in a tenant.
CREATE INDEX events_by_tenant ON events (tenant_id, id);

-- When an answer reached which stage, in milliseconds since the conversation began.
ALTER TABLE transcript_entries ADD COLUMN stages TEXT;

-- Tools that ran in a conversation.
CREATE TABLE tool_calls (
    tenant_id           BLOB NOT NULL,
    call_id             BLOB NOT NULL REFERENCES calls (id),
    position            INTEGER NOT NULL,
    id                  TEXT NOT NULL,     -- the model's
    name                TEXT NOT NULL,
    arguments           TEXT NOT NULL,
    result              TEXT,
    status              TEXT NOT NULL,     -- succeeded or failed
    error               TEXT,
    start_ms            INTEGER NOT NULL,  -- since the conversation began
    duration_ms         INTEGER NOT NULL,
    PRIMARY KEY (call_id, position)
);
