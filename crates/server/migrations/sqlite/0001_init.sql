-- The same numbers and the same meaning on both engines; a test compares tables and columns.
-- Times are microseconds since 1970 in UTC. Ids are BLOBv7. `tenant_id` leads every key that customers can reach.

CREATE TABLE tenants (
    id                  BLOB PRIMARY KEY,
    name                TEXT NOT NULL,
    active              BOOLEAN NOT NULL,
    rate_per_minute     INTEGER,            -- NULL: the configured default
    concurrent_calls    INTEGER,            -- NULL: the configured default
    monthly_calls       INTEGER,            -- NULL: the configured default; negative: no cap
    created_at          INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL
);

CREATE TABLE api_keys (
    id                  BLOB PRIMARY KEY,
    tenant_id           BLOB NOT NULL REFERENCES tenants (id),
    prefix              TEXT NOT NULL UNIQUE,
    hash                BLOB NOT NULL,    -- SHA-256 of the whole key
    name                TEXT,
    created_at          INTEGER NOT NULL,
    expires_at          INTEGER,
    last_used_at        INTEGER,
    revoked_at          INTEGER
);
CREATE INDEX api_keys_by_tenant ON api_keys (tenant_id, id);

CREATE TABLE connections (
    id                  BLOB PRIMARY KEY,
    tenant_id           BLOB NOT NULL REFERENCES tenants (id),
    name                TEXT NOT NULL,
    provider            TEXT NOT NULL,
    settings            TEXT NOT NULL,
    credentials         BLOB,             -- sealed; NULL: none
    hints               TEXT NOT NULL,     -- the last characters of each credential, for reading
    max_concurrent      INTEGER,
    created_at          INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL,
    UNIQUE (tenant_id, name)
);

CREATE TABLE agents (
    id                  BLOB PRIMARY KEY,
    tenant_id           BLOB NOT NULL REFERENCES tenants (id),
    name                TEXT NOT NULL,
    version             INTEGER NOT NULL,   -- the newest row of agent_versions
    created_at          INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL,
    UNIQUE (tenant_id, name)
);

-- A call keeps the version it started with, so versions outlive their agent.
CREATE TABLE agent_versions (
    tenant_id           BLOB NOT NULL REFERENCES tenants (id),
    agent_id            BLOB NOT NULL,
    version             INTEGER NOT NULL,
    config              TEXT NOT NULL,
    created_at          INTEGER NOT NULL,
    PRIMARY KEY (agent_id, version)
);

-- Which agent uses which connection, so that one in use cannot be deleted.
CREATE TABLE agent_connections (
    tenant_id           BLOB NOT NULL REFERENCES tenants (id),
    agent_id            BLOB NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    connection_id       BLOB NOT NULL REFERENCES connections (id),
    PRIMARY KEY (agent_id, connection_id)
);
CREATE INDEX agent_connections_by_connection ON agent_connections (connection_id);

CREATE TABLE numbers (
    id                  BLOB PRIMARY KEY,
    tenant_id           BLOB NOT NULL REFERENCES tenants (id),
    number              TEXT NOT NULL,
    label               TEXT,
    connection_id       BLOB NOT NULL REFERENCES connections (id),
    inbound_agent_id    BLOB REFERENCES agents (id),
    created_at          INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL,
    UNIQUE (connection_id, number)
);
CREATE INDEX numbers_by_tenant ON numbers (tenant_id, id);

CREATE TABLE calls (
    id                  BLOB PRIMARY KEY,
    tenant_id           BLOB NOT NULL REFERENCES tenants (id),
    status              TEXT NOT NULL,
    direction           TEXT NOT NULL,
    agent_id            BLOB NOT NULL,
    agent_version       INTEGER NOT NULL,
    number_id           BLOB,
    connection_id       BLOB NOT NULL,
    provider            TEXT NOT NULL,
    from_number         TEXT NOT NULL,
    to_number           TEXT NOT NULL,
    request             TEXT NOT NULL,     -- variables, metadata, overrides, answering machine, ring timeout
    created_at          INTEGER NOT NULL,
    due_at              INTEGER NOT NULL,     -- when to dial: creation, or schedule_at
    deadline            INTEGER,              -- when the phase must have moved on; NULL once ended
    dialing_at          INTEGER,
    ringing_at          INTEGER,
    answered_at         INTEGER,
    ended_at            INTEGER,
    end_reason          TEXT,
    ended_by            TEXT,
    answered_by         TEXT,
    error_code          TEXT,
    error               TEXT,
    carrier_call_id     TEXT,
    carrier_cause       TEXT,
    carrier_code        TEXT,
    sip_code            INTEGER,
    hung_up_by          TEXT,              -- by the carrier's report
    hangup_reported     BOOLEAN NOT NULL,  -- carrier.hangup has been sent
    hangup_requested_at INTEGER,              -- somebody asked through the API
    duration_seconds    INTEGER NOT NULL,
    turns               INTEGER NOT NULL,
    summary             TEXT,
    outcome             TEXT,
    latency             TEXT,
    usage               TEXT,
    recording           TEXT,              -- file below the data directory
    event_count         INTEGER NOT NULL,   -- the newest sequence number
    lease_owner         BLOB,              -- the node that runs this call
    lease_token         INTEGER NOT NULL,   -- fencing token: goes up with every claim
    lease_until         INTEGER
);
CREATE INDEX calls_by_tenant ON calls (tenant_id, id);
-- For the monthly cap: counting must not read what was placed before this month.
CREATE INDEX calls_placed ON calls (tenant_id, created_at) WHERE direction = 'outbound';
CREATE INDEX calls_live_by_tenant ON calls (tenant_id) WHERE status IN ('queued', 'dialing', 'in_progress');
CREATE INDEX calls_live_by_connection ON calls (connection_id) WHERE status IN ('queued', 'dialing', 'in_progress');
CREATE INDEX calls_live ON calls (due_at) WHERE status IN ('queued', 'dialing', 'in_progress');

CREATE TABLE transcript_entries (
    tenant_id           BLOB NOT NULL,
    call_id             BLOB NOT NULL REFERENCES calls (id),
    position            INTEGER NOT NULL,
    role                TEXT NOT NULL,     -- caller or agent
    text                TEXT NOT NULL,
    start_ms            INTEGER NOT NULL,   -- since the conversation began
    end_ms              INTEGER NOT NULL,
    interrupted         BOOLEAN NOT NULL,
    latency_ms          INTEGER,            -- of the agent's first sound after the caller's last
    PRIMARY KEY (call_id, position)
);

CREATE TABLE events (
    id                  BLOB PRIMARY KEY,
    tenant_id           BLOB NOT NULL REFERENCES tenants (id),
    call_id             BLOB NOT NULL REFERENCES calls (id),
    sequence            INTEGER NOT NULL,
    event               TEXT NOT NULL,
    data                TEXT NOT NULL,
    created_at          INTEGER NOT NULL,
    UNIQUE (call_id, sequence)
);

CREATE TABLE webhooks (
    id                  BLOB PRIMARY KEY,
    tenant_id           BLOB NOT NULL REFERENCES tenants (id),
    url                 TEXT NOT NULL,
    events              TEXT NOT NULL,
    enabled             BOOLEAN NOT NULL,
    disabled_reason     TEXT,
    secret              BLOB NOT NULL,    -- sealed
    previous_secret     BLOB,             -- sealed; signs too until previous_until
    previous_until      INTEGER,
    failing_since       INTEGER,              -- first failure since the last success
    created_at          INTEGER NOT NULL,
    updated_at          INTEGER NOT NULL
);
CREATE INDEX webhooks_by_tenant ON webhooks (tenant_id, id);

CREATE TABLE deliveries (
    id                  BLOB PRIMARY KEY,
    tenant_id           BLOB NOT NULL,
    webhook_id          BLOB NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    call_id             BLOB,
    sequence            INTEGER,           -- of the event in its call: first attempts keep this order; NULL: none to keep
    event               TEXT NOT NULL,
    body                BLOB NOT NULL,    -- frozen: every attempt sends the same bytes
    state               TEXT NOT NULL,     -- pending, sending, succeeded, failed, canceled
    attempts            INTEGER NOT NULL,
    next_attempt_at     INTEGER,
    lease_token         INTEGER NOT NULL,
    lease_until         INTEGER,
    created_at          INTEGER NOT NULL
);
CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, id);
-- Small ones over what is unfinished, so that a long backlog of one endpoint slows nobody else down.
CREATE INDEX deliveries_due ON deliveries (next_attempt_at) WHERE state = 'pending';
CREATE INDEX deliveries_first ON deliveries (webhook_id, next_attempt_at) WHERE state = 'pending' AND attempts = 0;
CREATE INDEX deliveries_again ON deliveries (webhook_id, next_attempt_at) WHERE state = 'pending' AND attempts > 0;
CREATE INDEX deliveries_sending ON deliveries (webhook_id) WHERE state = 'sending';
CREATE INDEX deliveries_open_of_call ON deliveries (webhook_id, call_id) WHERE state IN ('pending', 'sending');

CREATE TABLE delivery_attempts (
    delivery_id         BLOB NOT NULL REFERENCES deliveries (id) ON DELETE CASCADE,
    number              INTEGER NOT NULL,
    started_at          INTEGER NOT NULL,
    duration_ms         INTEGER,
    status              INTEGER,
    error               TEXT,
    response_excerpt    TEXT,
    PRIMARY KEY (delivery_id, number)
);

CREATE TABLE idempotency_keys (
    tenant_id           BLOB NOT NULL REFERENCES tenants (id),
    key                 TEXT NOT NULL,
    fingerprint         BLOB NOT NULL,
    status              INTEGER NOT NULL,
    location            TEXT NOT NULL,
    body                BLOB NOT NULL,
    created_at          INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- One row for each request admitted in the last minute: the sliding window is exact because it is the requests themselves.
CREATE TABLE admitted_requests (
    tenant_id           BLOB NOT NULL REFERENCES tenants (id),
    number              INTEGER NOT NULL,   -- counts up per tenant, without gaps
    admitted_at         INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, number)
);
