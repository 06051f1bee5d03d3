-- What happened to a conversation, compressed: `switchhook replay` runs it again. It has the words of the call, redacted as those are.
CREATE TABLE call_inputs (
    tenant_id           BLOB NOT NULL,
    call_id             BLOB NOT NULL PRIMARY KEY REFERENCES calls (id),
    kept_at             BIGINT NOT NULL,
    log                 BLOB NOT NULL
);
CREATE INDEX call_inputs_by_age ON call_inputs (kept_at);
