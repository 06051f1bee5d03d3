-- How long the words of a call are kept, as its agent said when the call was placed.

ALTER TABLE calls ADD COLUMN retention_days BIGINT; -- NULL: for ever
ALTER TABLE calls ADD COLUMN erased_at BIGINT;      -- when its words were deleted
CREATE INDEX calls_to_erase ON calls ((ended_at + retention_days * 86400000000))
    WHERE retention_days IS NOT NULL AND erased_at IS NULL;

-- The body of a delivery that is under way stays as it is: it is erased once the delivery has ended.
ALTER TABLE deliveries ADD COLUMN erase BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX deliveries_to_erase ON deliveries (id) WHERE erase = TRUE;
-- Of the only event that tells what was said.
CREATE INDEX deliveries_with_words ON deliveries (call_id) WHERE event = 'call.completed';
