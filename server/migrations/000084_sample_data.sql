-- expand, runs with 0.1.0
-- The sandboxes with sample data, and how far the worker is.
CREATE TABLE sample_data (
  company_id uuid NOT NULL PRIMARY KEY REFERENCES companies (id) ON DELETE CASCADE,
  state text NOT NULL,
  -- How often the sandbox was filled. It is part of the idempotency keys.
  number integer NOT NULL DEFAULT 1,
  -- The end of the history, by the clock of the company.
  ends_at timestamptz NOT NULL,
  done integer NOT NULL DEFAULT 0,
  total integer NOT NULL DEFAULT 0,
  leased_until timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT sample_data_state CHECK (state IN ('filling', 'filled', 'clearing', 'cleared')),
  CONSTRAINT sample_data_done CHECK (done >= 0 AND done <= total)
);
CREATE INDEX sample_data_open ON sample_data (leased_until) WHERE state IN ('filling', 'clearing');
