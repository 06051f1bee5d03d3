-- How an agent's new calls are split among its versions, as JSON; NULL: all get the newest. Versions named here are not pruned.
ALTER TABLE agents ADD COLUMN traffic JSONB;
