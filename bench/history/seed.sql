-- A tenant with 200 agents, each with a number of its own, and two webhook endpoints that share the events between them.
-- In SQLite's dialect; fill.rs gives PostgreSQL the two functions and the types that it lacks.

INSERT INTO tenants (id, name, active, rate_per_minute, concurrent_calls, created_at, updated_at)
VALUES (unhex('{tenant}', '-'), 'history', TRUE, 1000000, 1000000, {start}, {start});

INSERT INTO api_keys (id, tenant_id, prefix, hash, name, created_at)
VALUES (unhex('{api_key}', '-'), unhex('{tenant}', '-'), '{key_prefix}', {key_hash}, 'first key', {start});

INSERT INTO connections (id, tenant_id, name, provider, settings, hints, created_at, updated_at)
VALUES (unhex('{carrier}', '-'), unhex('{tenant}', '-'), 'simulator', 'simulator', '{}', '{}', {start}, {start}),
    (unhex('{scripted}', '-'), unhex('{tenant}', '-'), 'scripted', 'scripted', '{}', '{}', {start}, {start});

INSERT INTO webhooks (id, tenant_id, url, events, enabled, secret, created_at, updated_at, proven)
VALUES (unhex('{progress_webhook}', '-'), unhex('{tenant}', '-'), 'http://127.0.0.1:9/',
        '["call.queued","call.received","call.dialing","call.in_progress"]', TRUE, {progress_secret}, {start}, {start}, TRUE),
    (unhex('{end_webhook}', '-'), unhex('{tenant}', '-'), 'http://127.0.0.1:9/',
        '["carrier.hangup","call.completed","call.failed"]', TRUE, {end_secret}, {start}, {start}, TRUE);

CREATE TEMP TABLE seeded AS
WITH RECURSIVE numbered (n) AS (SELECT CAST(0 AS BIGINT) UNION ALL SELECT n + 1 FROM numbered WHERE n < 199)
SELECT n, unhex('{agents}' || printf('%012x', n), '-') AS agent_id, unhex('{numbers}' || printf('%012x', n), '-') AS number_id,
    '{"instructions":"Book a table.","stt":{"connection_id":"{scripted}"},"llm":{"connection_id":"{scripted}"},'
        || '"tts":{"connection_id":"{scripted}"}}' AS config
FROM numbered;

INSERT INTO agents (id, tenant_id, name, version, created_at, updated_at)
SELECT agent_id, unhex('{tenant}', '-'), 'Agent ' || n, 1, {start}, {start} FROM seeded;

INSERT INTO agent_versions (tenant_id, agent_id, version, config, created_at)
SELECT unhex('{tenant}', '-'), agent_id, 1, CAST(config AS {JSON}), {start} FROM seeded;

INSERT INTO agent_connections (tenant_id, agent_id, connection_id)
SELECT unhex('{tenant}', '-'), agent_id, unhex('{scripted}', '-') FROM seeded;

INSERT INTO numbers (id, tenant_id, number, connection_id, inbound_agent_id, created_at, updated_at)
SELECT number_id, unhex('{tenant}', '-'), '+' || (12025560000 + n), unhex('{carrier}', '-'), agent_id, {start}, {start} FROM seeded;

DROP TABLE seeded;
