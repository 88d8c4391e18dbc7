-- expand, runs with 0.1.0
-- When a notice to this connection was refused last, and why; null after one was accepted.
ALTER TABLE processor_connections ADD COLUMN notice_refused_at timestamptz, ADD COLUMN notice_refusal text;
