-- What people look at: versions of agents, what calls came to by the hour, what needs attention, and how each answer came about.

-- Indexes over all rows are made here, and sorted in memory.
SET LOCAL maintenance_work_mem = '256MB';

-- The name of the agent then; NULL where the agent was deleted before names were kept.
ALTER TABLE agent_versions ADD COLUMN name TEXT;
UPDATE agent_versions SET name = (SELECT name FROM agents WHERE agents.id = agent_versions.agent_id);

-- Ended calls by the hour (UTC), summed in the transaction that ends them, so that a figure costs what its time span is long.
CREATE TABLE call_sums (
    tenant_id           UUID NOT NULL REFERENCES tenants (id),
    hour                BIGINT NOT NULL,  -- its beginning
    agent_id            UUID NOT NULL,
    connection_id       UUID NOT NULL,     -- of the carrier
    completed           BIGINT NOT NULL,
    failed              BIGINT NOT NULL,
    seconds             BIGINT NOT NULL,  -- answered
    cost_micros         BIGINT NOT NULL,  -- millionths of a dollar, of what has a price
    unpriced            BIGINT NOT NULL,  -- calls that used something without a price
    PRIMARY KEY (tenant_id, hour, agent_id, connection_id)
);
INSERT INTO call_sums (tenant_id, hour, agent_id, connection_id, completed, failed, seconds, cost_micros, unpriced)
    SELECT tenant_id, COALESCE(ended_at, created_at) / 3600000000 * 3600000000, agent_id, connection_id,
        SUM(CASE WHEN status = 'completed' THEN 1 ELSE 0 END), SUM(CASE WHEN status = 'failed' THEN 1 ELSE 0 END),
        SUM(duration_seconds), CAST(SUM(CEIL(COALESCE(CAST(usage ->> 'cost_usd' AS DOUBLE PRECISION), 0) * 1000000)) AS BIGINT),
        SUM(CASE WHEN usage ->> 'unpriced' = 'true' THEN 1 ELSE 0 END)
    FROM calls WHERE status IN ('completed', 'failed') GROUP BY 1, 2, 3, 4;

-- How long callers waited for an answer, as a histogram: bins of `core::histogram` and what fell into each.
CREATE TABLE response_times (
    tenant_id           UUID NOT NULL REFERENCES tenants (id),
    hour                BIGINT NOT NULL,  -- its beginning
    agent_id            UUID NOT NULL,
    bin                 BIGINT NOT NULL,
    responses           BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, hour, agent_id, bin)
);

-- Connections whose credentials or settings were refused in a call, until a call succeeds with them, a test does, or they change.
CREATE TABLE connection_refusals (
    connection_id       UUID PRIMARY KEY REFERENCES connections (id) ON DELETE CASCADE,
    tenant_id           UUID NOT NULL REFERENCES tenants (id),
    since               BIGINT NOT NULL,  -- the first one
    calls               BIGINT NOT NULL,
    detail              TEXT NOT NULL      -- of the last one
);
CREATE INDEX connection_refusals_by_tenant ON connection_refusals (tenant_id, connection_id);

-- For those who follow all that happens in a tenant. By the bytes of both ids: no other query takes this index for its own, and these take no other.
CREATE INDEX events_by_tenant ON events (uuid_send(tenant_id), uuid_send(id));

-- When an answer reached which stage, in milliseconds since the conversation began.
ALTER TABLE transcript_entries ADD COLUMN stages JSONB;

-- Tools that ran in a conversation.
CREATE TABLE tool_calls (
    tenant_id           UUID NOT NULL,
    call_id             UUID NOT NULL REFERENCES calls (id),
    position            BIGINT NOT NULL,
    id                  TEXT NOT NULL,     -- the model's
    name                TEXT NOT NULL,
    arguments           JSONB NOT NULL,
    result              JSONB,
    status              TEXT NOT NULL,     -- succeeded or failed
    error               TEXT,
    start_ms            BIGINT NOT NULL,  -- since the conversation began
    duration_ms         BIGINT NOT NULL,
    PRIMARY KEY (call_id, position)
);
