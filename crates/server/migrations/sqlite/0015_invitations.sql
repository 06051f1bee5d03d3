-- A person may belong to several tenants, with a row in each, and joins one by the link of an invitation. Earlier invitations have no
-- link: they end. SQLite cannot drop a constraint, so both tables are made anew; the rename changes the reference, too.
CREATE TABLE new_people (
    id                  BLOB PRIMARY KEY,
    tenant_id           BLOB NOT NULL REFERENCES tenants (id),
    issuer              TEXT,             -- with subject: the identity; NULL: invited, not a member yet
    subject             TEXT,
    email               TEXT,             -- in lower case; NULL: the identity provider returned none
    email_verified      BOOLEAN NOT NULL DEFAULT FALSE,
    name                TEXT,
    role                TEXT NOT NULL,    -- owner, member or viewer
    created_at          INTEGER NOT NULL,
    last_seen_at        INTEGER,
    home                BOOLEAN NOT NULL DEFAULT FALSE,  -- whether a first sign-in made it
    invitation          BLOB,             -- SHA-256 of the link's token, until the invitation is accepted
    invited_by          BLOB,             -- a person of the tenant, who may be gone; NULL: a program
    expires_at          INTEGER,          -- of the invitation
    UNIQUE (issuer, subject, tenant_id)
);
INSERT INTO new_people (id, tenant_id, issuer, subject, email, email_verified, name, role, created_at, last_seen_at)
    SELECT id, tenant_id, issuer, subject, email, email_verified, name, role, created_at, last_seen_at FROM people
    WHERE issuer IS NOT NULL;

CREATE TABLE new_sessions (
    hash                BLOB PRIMARY KEY, -- SHA-256 of the cookie's value
    tenant_id           BLOB NOT NULL REFERENCES tenants (id),
    person_id           BLOB NOT NULL REFERENCES new_people (id) ON DELETE CASCADE,
    created_at          INTEGER NOT NULL,
    used_at             INTEGER NOT NULL  -- to the minute
);
INSERT INTO new_sessions (hash, tenant_id, person_id, created_at, used_at)
    SELECT hash, tenant_id, person_id, created_at, used_at FROM sessions;

DROP TABLE sessions;
DROP TABLE people;
ALTER TABLE new_people RENAME TO people;
ALTER TABLE new_sessions RENAME TO sessions;

CREATE INDEX people_by_tenant ON people (tenant_id, id);
-- Two first sign-ins at once make one tenant.
CREATE UNIQUE INDEX people_home ON people (issuer, subject) WHERE home = TRUE;
CREATE UNIQUE INDEX people_invitation ON people (invitation) WHERE invitation IS NOT NULL;
CREATE INDEX people_invited ON people (tenant_id, email) WHERE issuer IS NULL;
CREATE INDEX sessions_by_person ON sessions (person_id);
CREATE INDEX sessions_by_tenant ON sessions (tenant_id);
CREATE INDEX sessions_by_use ON sessions (used_at);

-- When a tenant invited somebody, in the last hour.
CREATE TABLE made_invitations (
    person_id           BLOB PRIMARY KEY,
    tenant_id           BLOB NOT NULL REFERENCES tenants (id),
    made_at             INTEGER NOT NULL
);
CREATE INDEX made_invitations_by_tenant ON made_invitations (tenant_id, made_at);
