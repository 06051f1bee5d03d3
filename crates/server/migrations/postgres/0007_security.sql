-- A delivery whose `body` is empty tells of the event that `call_id` and `sequence` name, and sends that event's data.

-- Whom a tenant may call. Prefixes are separated by commas; NULL is the default, and a negative number is no limit.
ALTER TABLE tenants ADD COLUMN dial_allow TEXT NOT NULL DEFAULT '';
ALTER TABLE tenants ADD COLUMN dial_deny TEXT NOT NULL DEFAULT '';
ALTER TABLE tenants ADD COLUMN per_number_per_day BIGINT;
ALTER TABLE tenants ADD COLUMN cost_per_day_micros BIGINT;
-- Private addresses that its tools and providers may reach, beside those of SWITCHHOOK_OUTBOUND_ALLOW.
ALTER TABLE tenants ADD COLUMN outbound_allow TEXT NOT NULL DEFAULT '';

-- Calls and transfers of the last 24 hours, by number.
CREATE TABLE dialed_numbers (
    id                  BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant_id           UUID NOT NULL,
    number              TEXT NOT NULL,
    dialed_at           BIGINT NOT NULL
);
CREATE INDEX dialed_numbers_by_number ON dialed_numbers (tenant_id, number, dialed_at);
CREATE INDEX dialed_numbers_by_age ON dialed_numbers (dialed_at);

-- What the calls of a day (UTC) have cost, in millionths of a dollar.
CREATE TABLE daily_costs (
    tenant_id           UUID NOT NULL REFERENCES tenants (id),
    day                 BIGINT NOT NULL,  -- its beginning
    micros              BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, day)
);
