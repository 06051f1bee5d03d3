-- Nothing that a node does may cost more because the database has a past: what is live is found through indexes that hold only
-- that, what is counted is counted as it happens, and lists of ended calls are answered by an inverted index.

-- Indexes over all rows are made here, and sorted in memory.
SET LOCAL maintenance_work_mem = '256MB';

-- Calls that `POST /v1/calls` accepted, per calendar month (UTC), counted in the transaction that creates them.
CREATE TABLE monthly_calls (
    tenant_id           UUID NOT NULL REFERENCES tenants (id),
    month               BIGINT NOT NULL,   -- its beginning
    calls               BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, month)
);
INSERT INTO monthly_calls (tenant_id, month, calls)
    SELECT tenant_id, CAST(EXTRACT(EPOCH FROM date_trunc('month', to_timestamp(created_at / 1000000) AT TIME ZONE 'UTC')) AS BIGINT) * 1000000, COUNT(*) FROM calls WHERE direction = 'outbound' GROUP BY 1, 2;
DROP INDEX calls_placed;

-- Live calls. Queries repeat the condition of the index word by word: SQLite takes a partial index for nothing less.
DROP INDEX calls_live_by_tenant;
DROP INDEX calls_live_by_connection;
-- By the bytes of an id, which are in its own order: no other index has them, and so a list of live calls never looks for them among
-- all others.
CREATE INDEX calls_live_by_tenant ON calls (tenant_id, uuid_send(id)) WHERE status IN ('queued', 'dialing', 'in_progress');
CREATE INDEX calls_live_by_connection ON calls (connection_id, due_at, id) WHERE status IN ('queued', 'dialing', 'in_progress');
CREATE INDEX calls_to_hang_up ON calls (lease_owner)
    WHERE hangup_requested_at IS NOT NULL AND status IN ('queued', 'dialing', 'in_progress');
-- Dials whose answer was lost or that the carrier refused.
CREATE INDEX calls_without_carrier_id ON calls (connection_id, dialing_at)
    WHERE carrier_call_id IS NULL AND dialing_at IS NOT NULL;
-- Whose recordings other nodes still have to delete.
CREATE INDEX calls_erased ON calls (erased_at) WHERE erased_at IS NOT NULL;

-- The inverted index over ended calls. What ends is pending first; when a tenant has enough pending calls they become a segment,
-- which never changes. A posting says which calls of a segment have a term: a filter's field and value, hashed.
CREATE TABLE call_search_pending (
    tenant_id           UUID NOT NULL,
    call_id             UUID NOT NULL,
    ended_at            BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, call_id)
);
CREATE INDEX call_search_pending_by_end ON call_search_pending (ended_at, tenant_id);
CREATE TABLE call_search_segments (
    tenant_id           UUID NOT NULL,
    segment             BIGINT NOT NULL,   -- counts up per tenant
    first_id            UUID NOT NULL,
    last_id             UUID NOT NULL,
    last_ended_at       BIGINT NOT NULL,
    ids                 BYTEA NOT NULL,    -- 16 bytes for each call, in ascending order
    PRIMARY KEY (tenant_id, segment)
);
CREATE INDEX call_search_segments_by_id ON call_search_segments (tenant_id, last_id, first_id, segment);
CREATE INDEX call_search_segments_by_end ON call_search_segments (last_ended_at);
CREATE TABLE call_search_postings (
    tenant_id           UUID NOT NULL,
    term                BIGINT NOT NULL,
    segment             BIGINT NOT NULL,
    positions           BYTEA NOT NULL,    -- in the segment's ids: two bytes each, or a bitmap
    PRIMARY KEY (tenant_id, term, segment)
);
INSERT INTO call_search_pending (tenant_id, call_id, ended_at)
    SELECT tenant_id, id, COALESCE(ended_at, created_at) FROM calls WHERE status IN ('completed', 'failed');

-- The answer of one call, and all that are old.
DROP INDEX idempotency_keys_by_age;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at, tenant_id);

-- Deliveries that are under way, those of a call, and those that have ended, as an endpoint's list filters them.
DROP INDEX deliveries_open_of_call;
DROP INDEX deliveries_with_words;
CREATE INDEX deliveries_open ON deliveries (webhook_id, id) WHERE state IN ('pending', 'sending');
CREATE INDEX deliveries_by_call ON deliveries (call_id, webhook_id, id) WHERE call_id IS NOT NULL;
-- For the same reason: a list of what an endpoint never got would otherwise be read backwards through everybody's deliveries.
CREATE INDEX deliveries_ended ON deliveries (webhook_id, event, state, uuid_send(id))
    WHERE state IN ('succeeded', 'failed', 'canceled');

-- Rows that change often and are few among many: their indexes stay small only if what is dead goes early.
ALTER TABLE calls SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000);
ALTER TABLE deliveries SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 20000);
ALTER TABLE call_search_pending SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000);
ALTER TABLE admitted_requests SET (autovacuum_vacuum_scale_factor = 0.0, autovacuum_vacuum_threshold = 5000);
