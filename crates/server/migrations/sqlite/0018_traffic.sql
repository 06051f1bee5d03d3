-- How an agent's new calls are split among its versions, as JSON; NULL: all get the newest. A version that stands here stays.
ALTER TABLE agents ADD COLUMN traffic TEXT;
