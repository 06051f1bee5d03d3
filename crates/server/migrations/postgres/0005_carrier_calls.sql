-- A carrier announces a call, and tells what becomes of it, by its own id.

CREATE UNIQUE INDEX calls_by_carrier_call ON calls (connection_id, carrier_call_id) WHERE carrier_call_id IS NOT NULL;
