-- Calls {from} to {to}, all ended, each with five events, five deliveries, their attempts and two to four lines of transcript.
-- What a call is follows from its number alone, by multiplication, so that every run makes the same rows. In SQLite's dialect;
-- fill.rs gives PostgreSQL the two functions and the types that it lacks. The columns are those of the schema's version 5.

CREATE TEMP TABLE batch AS
WITH RECURSIVE numbered (n) AS (SELECT CAST({from} AS BIGINT) UNION ALL SELECT n + 1 FROM numbered WHERE n + 1 < {to}),
hashed AS (
    SELECT n, n * 2654435761 % 4294967296 AS a, n * 2246822519 % 4294967296 AS b, n * 3266489917 % 4294967296 AS c FROM numbered
),
picked AS (
    SELECT n, a, b, c, {start} + n * {step} + a % {step} AS created_at, b / 256 % 200 AS agent,
        CASE WHEN a / 256 % 10 < 3 THEN 'inbound' ELSE 'outbound' END AS direction,
        CASE c / 256 % 50 WHEN 0 THEN 'busy' WHEN 1 THEN 'busy' WHEN 2 THEN 'busy' WHEN 3 THEN 'busy' WHEN 4 THEN 'no_answer'
            WHEN 5 THEN 'no_answer' WHEN 6 THEN 'no_answer' WHEN 7 THEN 'rejected' WHEN 8 THEN 'provider_timeout'
            WHEN 9 THEN 'no_media' END AS error_code,
        -- One number in twenty is the same one.
        CASE WHEN b / 65536 % 20 = 0 THEN '{often_called}' ELSE '+' || (13030000000 + c / 16 % 50000) END AS person
    FROM hashed
),
told AS (
    SELECT n, a, b, c, created_at, direction, error_code,
        substr(printf('%012x', created_at / 1000), 1, 8) || '-' || substr(printf('%012x', created_at / 1000), 9, 4) || '-7'
            || printf('%03x', a / 1048576) || '-8' || printf('%03x', b / 1048576) || '-' || printf('%012x', n) AS call,
        '{agents}' || printf('%012x', agent) AS agent, '{numbers}' || printf('%012x', agent) AS number,
        CASE direction WHEN 'inbound' THEN person ELSE '+' || (12025560000 + agent) END AS from_number,
        CASE direction WHEN 'inbound' THEN '+' || (12025560000 + agent) ELSE person END AS to_number,
        CASE WHEN error_code IS NULL THEN 'completed' ELSE 'failed' END AS status,
        CASE WHEN error_code IS NULL THEN CASE a / 65536 % 10 WHEN 0 THEN 'silence' WHEN 1 THEN 'voicemail' WHEN 2 THEN 'agent_hangup'
            WHEN 3 THEN 'agent_hangup' WHEN 4 THEN 'agent_hangup' ELSE 'caller_hangup' END END AS end_reason,
        CASE WHEN error_code IS NULL THEN 20 + b / 4096 % 240 ELSE 0 END AS duration,
        CASE WHEN error_code IS NULL THEN 'Ana asked for a table on Friday at half past seven and agreed to the booking.' END AS summary,
        -- The campaign of the first half of the year ends when that of the second begins.
        '{"campaign":"' || CASE WHEN n < {half} THEN 'spring' ELSE 'autumn' END || '","order":"o-' || (n / 3) || '"}' AS metadata
    FROM picked
)
SELECT told.*, CASE WHEN status = 'completed' THEN created_at + 5000000 END AS answered_at,
    created_at + 5000000 + duration * 1000000 AS ended_at FROM told;

CREATE TEMP TABLE batch_events AS
WITH steps (sequence) AS (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5),
told AS (
    SELECT batch.*, sequence,
        CASE sequence WHEN 1 THEN CASE direction WHEN 'inbound' THEN 'call.received' ELSE 'call.queued' END WHEN 2 THEN 'call.dialing'
            WHEN 3 THEN 'call.in_progress' WHEN 4 THEN 'carrier.hangup' ELSE 'call.' || status END AS event,
        CASE sequence WHEN 1 THEN created_at WHEN 2 THEN created_at + 300000 WHEN 3 THEN created_at + 5000000 ELSE ended_at END AS at,
        CASE sequence WHEN 1 THEN 'queued' WHEN 2 THEN 'dialing' WHEN 5 THEN status ELSE 'in_progress' END AS status_then,
        (n * 5 + sequence) * 2654435761 % 4294967296 AS d
    FROM batch CROSS JOIN steps
)
SELECT n, call, sequence, event, at, d,
    substr(printf('%012x', at / 1000), 1, 8) || '-' || substr(printf('%012x', at / 1000), 9, 4) || '-7'
        || printf('%03x', d / 1048576) AS id_starts,
    '{"call_id":"' || call || '","status":"' || status_then || '","direction":"' || direction || '","agent_id":"' || agent
        || '","from":"' || from_number || '","to":"' || to_number || '","metadata":' || metadata || ',"sequence":' || sequence
        || CASE WHEN sequence = 4 THEN
                ',"cause":"' || CASE status WHEN 'completed' THEN 'normal' ELSE 'failed' END
                || '","sip_code":200,"carrier_code":null,"hung_up_by":"caller"'
            WHEN sequence = 5 AND status = 'completed' THEN
                ',"summary":"' || summary || '","duration_seconds":' || duration || ',"turns":3,"error":null,"end_reason":"'
                || end_reason || '","outcome":{"name":"Ana","day":"Friday","time":"19:30","people":4,"confirmed":true}'
            WHEN sequence = 5 THEN
                ',"error_code":"' || error_code || '","error":"The call could not be completed.","duration_seconds":0,"turns":0'
            ELSE '' END
        || '}' AS data
FROM told;

INSERT INTO calls (id, tenant_id, status, direction, agent_id, agent_version, number_id, connection_id, provider, from_number,
    to_number, request, created_at, due_at, dialing_at, ringing_at, answered_at, ended_at, end_reason, ended_by, answered_by,
    error_code, error, carrier_call_id, carrier_cause, sip_code, hung_up_by, hangup_reported, duration_seconds, turns, summary,
    outcome, latency, usage, event_count, lease_owner, lease_token, lease_until)
SELECT unhex(call, '-'), unhex('{tenant}', '-'), status, direction, unhex(agent, '-'), 1, unhex(number, '-'),
    unhex('{carrier}', '-'), 'simulator', from_number, to_number,
    CAST('{"variables":{"name":"Ana"},"metadata":' || metadata || ',"overrides":{}}' AS {JSON}),
    created_at, created_at, created_at + 300000, created_at + 1500000, answered_at, ended_at, end_reason,
    CASE WHEN end_reason = 'caller_hangup' THEN 'caller' WHEN end_reason IS NULL THEN 'carrier' ELSE 'agent' END,
    CASE WHEN answered_at IS NULL THEN NULL WHEN end_reason = 'voicemail' THEN 'voicemail' ELSE 'human' END,
    error_code, CASE WHEN error_code IS NOT NULL THEN 'The call could not be completed.' END,
    'CA' || printf('%08x', a) || printf('%08x', b) || printf('%016x', n),
    CASE status WHEN 'completed' THEN 'normal' ELSE 'failed' END, 200, 'caller', TRUE, duration, duration / 20, summary,
    CAST(CASE status WHEN 'completed' THEN '{"name":"Ana","day":"Friday","time":"19:30","people":4,"confirmed":true}' END AS {JSON}),
    CAST(CASE status WHEN 'completed' THEN '{"after_turn_ms":{"p50":640,"p95":910,"max":1020},"turns":' || (duration / 20) || '}' END AS {JSON}),
    CAST(CASE status WHEN 'completed' THEN '{"stt_seconds":' || duration || ',"llm_input_tokens":' || (duration * 40)
        || ',"llm_output_tokens":' || (duration * 2) || ',"tts_characters":' || (duration * 9) || '}' END AS {JSON}),
    5, unhex('{nodes}' || printf('%012x', n / 100000), '-'), 1, ended_at + 20000000
FROM batch ORDER BY n;

INSERT INTO transcript_entries (tenant_id, call_id, position, role, text, start_ms, end_ms, interrupted, latency_ms)
SELECT unhex('{tenant}', '-'), unhex(call, '-'), position, CASE position % 2 WHEN 0 THEN 'agent' ELSE 'caller' END,
    CASE position % 2 WHEN 0 THEN 'Hello, this is Ava from Harbor Table. For how many people may I book the table on Friday?'
        ELSE 'Four of us, please, at half past seven if that is still free.' END,
    position * 4000, position * 4000 + 3500, FALSE, CASE position % 2 WHEN 0 THEN 640 END
FROM batch CROSS JOIN (SELECT 0 AS position UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) AS positions
WHERE position < 2 + n % 3 ORDER BY n, position;

INSERT INTO events (id, tenant_id, call_id, sequence, event, data, created_at)
SELECT unhex(id_starts || '-9' || printf('%03x', n % 4096) || '-' || printf('%012x', n * 8 + sequence), '-'),
    unhex('{tenant}', '-'), unhex(call, '-'), sequence, event, CAST(data AS {JSON}), at
FROM batch_events ORDER BY n, sequence;

INSERT INTO deliveries (id, tenant_id, webhook_id, call_id, sequence, event, body, state, attempts, lease_token, created_at)
SELECT unhex(id_starts || '-a' || printf('%03x', n % 4096) || '-' || printf('%012x', n * 8 + sequence), '-'),
    unhex('{tenant}', '-'), CASE WHEN sequence < 4 THEN unhex('{progress_webhook}', '-') ELSE unhex('{end_webhook}', '-') END,
    unhex(call, '-'), sequence, event,
    CAST('{"id":"' || id_starts || '-a' || printf('%03x', n % 4096) || '-' || printf('%012x', n * 8 + sequence)
        || '","event":"' || event || '","created":' || (at / 1000000) || ',"data":' || data || '}' AS {BYTES}),
    CASE d / 256 % 50 WHEN 0 THEN 'failed' ELSE 'succeeded' END, 1, 1, at
FROM batch_events ORDER BY n, sequence;

INSERT INTO delivery_attempts (delivery_id, number, started_at, duration_ms, status, error, response_excerpt)
SELECT unhex(id_starts || '-a' || printf('%03x', n % 4096) || '-' || printf('%012x', n * 8 + sequence), '-'), 1, at + 20000, 35,
    CASE d / 256 % 50 WHEN 0 THEN 410 ELSE 200 END,
    CASE d / 256 % 50 WHEN 0 THEN 'The endpoint answered 410.' END, CASE d / 256 % 50 WHEN 0 THEN 'gone' ELSE 'ok' END
FROM batch_events ORDER BY n, sequence;

INSERT INTO idempotency_keys (tenant_id, key, fingerprint, status, location, body, created_at)
SELECT unhex('{tenant}', '-'), 'order-' || n, CAST(printf('%016x', a) || printf('%016x', b) AS {BYTES}), 201, '/v1/calls/' || call,
    CAST('{"id":"' || call || '","status":"queued","direction":"outbound","agent_id":"' || agent || '","agent_version":1,"number_id":"'
        || number || '","from":"' || from_number || '","to":"' || to_number || '","variables":{"name":"Ana"},"metadata":' || metadata
        || ',"dialing_at":null,"ringing_at":null,"answered_at":null,"ended_at":null,"duration_seconds":0,"turns":0,"end_reason":null,'
        || '"ended_by":null,"answered_by":null,"error_code":null,"error":null,"carrier":{"connection_id":"{carrier}",'
        || '"provider":"simulator","call_id":null,"cause":null,"sip_code":null},"summary":null,"outcome":null,"latency":null,'
        || '"usage":null,"recording_url":null}' AS {BYTES}), created_at
FROM batch WHERE direction = 'outbound' AND created_at >= {keys_since} ORDER BY n;

DROP TABLE batch_events;
DROP TABLE batch;
