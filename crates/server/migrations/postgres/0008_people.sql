-- People who sign in to the dashboard. A person belongs to one tenant.

CREATE TABLE people (
    id                  UUID PRIMARY KEY,
    tenant_id           UUID NOT NULL REFERENCES tenants (id),
    issuer              TEXT,             -- with subject: the identity; NULL: invited, not signed in yet
    subject             TEXT,
    email               TEXT,             -- in lower case; NULL: the identity provider returned none
    name                TEXT,
    role                TEXT NOT NULL,    -- owner, member or viewer
    created_at          BIGINT NOT NULL,
    last_seen_at        BIGINT,
    UNIQUE (issuer, subject)
);
CREATE INDEX people_by_tenant ON people (tenant_id, id);
CREATE INDEX people_invited ON people (email, id) WHERE issuer IS NULL;

CREATE TABLE sessions (
    hash                BYTEA PRIMARY KEY, -- SHA-256 of the cookie's value
    tenant_id           UUID NOT NULL REFERENCES tenants (id),
    person_id           UUID NOT NULL REFERENCES people (id) ON DELETE CASCADE,
    created_at          BIGINT NOT NULL,
    used_at             BIGINT NOT NULL   -- to the minute
);
CREATE INDEX sessions_by_person ON sessions (person_id);
CREATE INDEX sessions_by_tenant ON sessions (tenant_id);
CREATE INDEX sessions_by_use ON sessions (used_at);

-- Sign-ins that came back from the identity provider: none counts twice.
CREATE TABLE used_sign_ins (
    hash                BYTEA PRIMARY KEY, -- SHA-256 of the state
    used_at             BIGINT NOT NULL
);
CREATE INDEX used_sign_ins_by_age ON used_sign_ins (used_at);
