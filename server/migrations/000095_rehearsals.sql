-- expand, runs with 0.1.0

-- Rehearsals of a connection with its test account. The worker makes one step after another; `steps` has the results.
CREATE TABLE rehearsals (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  connection_id uuid NOT NULL,
  currency text NOT NULL,
  state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'passed', 'failed')),
  started_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  steps jsonb NOT NULL DEFAULT '[]',
  -- What later steps need, for example the card of the first one.
  made jsonb NOT NULL DEFAULT '{}',
  -- Since when the step under way waits, for example for a notice.
  step_since timestamptz NOT NULL DEFAULT now(),
  -- A worker makes the step until then.
  leased_until timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (company_id, id),
  CHECK ((state = 'running') = (ended_at IS NULL)),
  FOREIGN KEY (company_id, connection_id) REFERENCES processor_connections (company_id, id)
);
CREATE UNIQUE INDEX rehearsals_running ON rehearsals (company_id, connection_id) WHERE state = 'running';
CREATE INDEX rehearsals_due ON rehearsals (leased_until) WHERE state = 'running';
CREATE INDEX rehearsals_of_connection ON rehearsals (company_id, connection_id, id);
