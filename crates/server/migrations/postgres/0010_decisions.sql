-- What was decided about turns in a conversation: a list, written with the end of the call. There are no words in it.
CREATE TABLE call_decisions (
    tenant_id           UUID NOT NULL,
    call_id             UUID NOT NULL PRIMARY KEY REFERENCES calls (id),
    decisions           JSONB NOT NULL
);
