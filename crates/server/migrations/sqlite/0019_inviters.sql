-- The open invitations of a person, which end with the person's role.
CREATE INDEX people_invited_by ON people (invited_by) WHERE issuer IS NULL AND invited_by IS NOT NULL;
