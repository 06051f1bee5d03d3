-- Whether the identity provider has verified the person's address. Earlier addresses count as unverified.
ALTER TABLE people ADD COLUMN email_verified BOOLEAN NOT NULL DEFAULT FALSE;
