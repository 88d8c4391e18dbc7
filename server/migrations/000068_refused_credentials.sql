-- expand, runs with 0.1.0
-- Since when the processor refuses the credentials of a connection; null while it accepts them.
ALTER TABLE processor_connections ADD COLUMN refused_at timestamptz;
CREATE INDEX processor_connections_refused ON processor_connections (refused_at) WHERE refused_at IS NOT NULL;
