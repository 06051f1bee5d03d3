-- Whether an endpoint has ever taken a delivery: those that have keep room among the attempts under way.
ALTER TABLE webhooks ADD COLUMN proven BOOLEAN NOT NULL DEFAULT FALSE;
