-- The signing secret before the previous one, which signs until its own time is over: endpoints may be rotated twice in a day.
ALTER TABLE webhooks ADD COLUMN earlier_secret BLOB; -- sealed
ALTER TABLE webhooks ADD COLUMN earlier_until INTEGER;
