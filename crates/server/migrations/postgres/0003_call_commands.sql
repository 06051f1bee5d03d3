-- What clients asked of a running conversation and its node has not taken yet. Taking a row deletes it, so that nothing is done
-- twice, and neither words nor keys stay behind.
CREATE TABLE call_commands (
    id                  UUID PRIMARY KEY,
    tenant_id           UUID NOT NULL,
    call_id             UUID NOT NULL REFERENCES calls (id) ON DELETE CASCADE,
    command             JSONB NOT NULL,    -- {"kind": "say" | "dtmf" | "transfer", …}
    created_at          BIGINT NOT NULL
);
CREATE INDEX call_commands_by_call ON call_commands (call_id, created_at);
