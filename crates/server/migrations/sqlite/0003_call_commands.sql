-- What clients asked of a running conversation and its node has not taken yet. Taking a row deletes it, so that nothing is done
-- twice, and neither words nor keys stay behind.
CREATE TABLE call_commands (
    id                  BLOB PRIMARY KEY,
    tenant_id           BLOB NOT NULL,
    call_id             BLOB NOT NULL REFERENCES calls (id) ON DELETE CASCADE,
    command             TEXT NOT NULL,     -- {"kind": "say" | "dtmf" | "transfer", …}
    created_at          INTEGER NOT NULL
);
CREATE INDEX call_commands_by_call ON call_commands (call_id, created_at);
