-- A person may belong to several tenants, with a row in each, and joins one by the link of an invitation. Earlier invitations have no
-- link: they end.
DELETE FROM people WHERE issuer IS NULL;
DROP INDEX people_invited;
ALTER TABLE people
    DROP CONSTRAINT people_issuer_subject_key,
    ADD UNIQUE (issuer, subject, tenant_id),
    ADD COLUMN home BOOLEAN NOT NULL DEFAULT FALSE,  -- whether a first sign-in made it
    ADD COLUMN invitation BYTEA,                     -- SHA-256 of the link's token, until the invitation is accepted
    ADD COLUMN invited_by UUID,                      -- a person of the tenant, who may be gone; NULL: a program
    ADD COLUMN expires_at BIGINT;                    -- of the invitation
-- Two first sign-ins at once make one tenant.
CREATE UNIQUE INDEX people_home ON people (issuer, subject) WHERE home = TRUE;
CREATE UNIQUE INDEX people_invitation ON people (invitation) WHERE invitation IS NOT NULL;
CREATE INDEX people_invited ON people (tenant_id, email) WHERE issuer IS NULL;

-- When a tenant invited somebody, in the last hour.
CREATE TABLE made_invitations (
    person_id           UUID PRIMARY KEY,
    tenant_id           UUID NOT NULL REFERENCES tenants (id),
    made_at             BIGINT NOT NULL
);
CREATE INDEX made_invitations_by_tenant ON made_invitations (tenant_id, made_at);
