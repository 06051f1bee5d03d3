-- Invitations are deleted some time after they have expired.
CREATE INDEX people_expiring ON people (expires_at) WHERE expires_at IS NOT NULL;
