-- How post-call analysis went: a status, and an error without words of the conversation.
ALTER TABLE calls ADD COLUMN analysis JSONB;
