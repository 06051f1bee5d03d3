-- What a tenant stores is bounded: versions of agents are pruned, their bytes counted, and every kind of resource has a limit.

-- The size of a version's configuration as JSON, and the sum of a tenant's.
ALTER TABLE agent_versions ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE agent_versions SET bytes = octet_length(config);
ALTER TABLE tenants ADD COLUMN agent_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE tenants SET agent_bytes = (SELECT COALESCE(SUM(bytes), 0) FROM agent_versions WHERE tenant_id = tenants.id);

-- The limits that an operator has set for a tenant, by name; NULL: none.
ALTER TABLE tenants ADD COLUMN stored_limits TEXT;

-- Whether a call keeps a version. The version comes first, so that no list of an agent's calls takes this index for its own.
CREATE INDEX calls_by_agent_version ON calls (agent_version, agent_id);

-- Agents with versions that may have to go: deleted ones, and those with more than is kept.
CREATE TABLE agents_to_prune (
    agent_id            BLOB PRIMARY KEY,
    tenant_id           BLOB NOT NULL REFERENCES tenants (id)
);
INSERT INTO agents_to_prune (agent_id, tenant_id)
    SELECT v.agent_id, v.tenant_id FROM agent_versions v LEFT JOIN agents a ON a.id = v.agent_id
    GROUP BY v.agent_id, v.tenant_id HAVING COUNT(a.id) = 0 OR COUNT(*) > 100;
