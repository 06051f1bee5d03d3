-- Whether the identity provider has verified the person's address. Of addresses from before, nobody knows.
ALTER TABLE people ADD COLUMN email_verified BOOLEAN NOT NULL DEFAULT FALSE;
