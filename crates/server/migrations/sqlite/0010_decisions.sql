-- What was decided about turns in a conversation: a list, written with the end of the call. There are no words in it.
CREATE TABLE call_decisions (
    tenant_id           BLOB NOT NULL,
    call_id             BLOB NOT NULL PRIMARY KEY REFERENCES calls (id),
    decisions           TEXT NOT NULL
);
