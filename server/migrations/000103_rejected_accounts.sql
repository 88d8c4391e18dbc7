-- expand, runs with 0.1.0
-- Since when the processor refuses the account or the settings of a connection, and what of them, in words of the connector.
ALTER TABLE processor_connections ADD COLUMN rejected_at timestamptz;
ALTER TABLE processor_connections ADD COLUMN rejection text;
CREATE INDEX processor_connections_rejected ON processor_connections (rejected_at) WHERE rejected_at IS NOT NULL;
