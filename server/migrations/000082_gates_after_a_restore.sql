-- expand, runs with 0.1.0
-- What a restore from a backup still means for a live company; null if nothing. `closed`: no request moves money and nothing is
-- billed. `renewals_wait`: only its subscriptions wait. `remembers`: it is open, and its processors executed operations that its
-- records do not have.
ALTER TABLE companies ADD COLUMN gate text CHECK (gate IN ('closed', 'renewals_wait', 'remembers'));

-- The comparison of a company's records with its processors after a restore. The last one is kept.
CREATE TABLE company_gates (
  company_id uuid PRIMARY KEY REFERENCES companies (id),
  -- The restore of the shard; null if only this company was found to be older than a processor.
  restore_id uuid,
  noticed_by text NOT NULL CHECK (noticed_by IN ('operator', 'high_water_mark', 'earlier_result')),
  detail text NOT NULL,
  closed_at timestamptz NOT NULL DEFAULT now(),
  -- What processors executed since may be missing; null if the records may have lost everything.
  books_until timestamptz,
  -- Connections that this machine knew and the database does not: they were made after the backup.
  lost_connections jsonb NOT NULL DEFAULT '[]',
  waits_for text NOT NULL DEFAULT 'comparison'
    CHECK (waits_for IN ('comparison', 'second_list', 'processor', 'connection', 'operator')),
  failure text,
  failures integer NOT NULL DEFAULT 0,
  next_compare_at timestamptz NOT NULL DEFAULT now(),
  opened_at timestamptz,
  -- By the clocks of the processors: what they executed before is known.
  compared_until timestamptz,
  CHECK ((opened_at IS NULL) = (compared_until IS NULL))
);

-- The connection that executed the operation: a repeated request gets the outcome from there.
ALTER TABLE missing_operations ADD COLUMN connection_id uuid;

-- A comparison found that the processor executed it, so it is looked up and recorded also while the gate is closed.
ALTER TABLE open_transactions ADD COLUMN adopted boolean NOT NULL DEFAULT false;
