-- Whether an endpoint has ever taken a delivery: those that have keep room among the attempts under way.
ALTER TABLE webhooks ADD COLUMN proven BOOLEAN NOT NULL DEFAULT FALSE;

-- In the order in which they are claimed, so that a claim reads ten rows and not the whole backlog.
DROP INDEX deliveries_first;
DROP INDEX deliveries_again;
CREATE INDEX deliveries_first ON deliveries (webhook_id, next_attempt_at, id) WHERE state = 'pending' AND attempts = 0;
CREATE INDEX deliveries_again ON deliveries (webhook_id, next_attempt_at, id) WHERE state = 'pending' AND attempts > 0;
