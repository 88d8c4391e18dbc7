-- Tells this database from others, and is restored with it.
CREATE TABLE installation (
  id uuid PRIMARY KEY
);
INSERT INTO installation VALUES (gen_random_uuid());

-- Times at which the database was found to be restored from a backup. While one is not reconciled, no live subscription is
-- billed.
CREATE TABLE restores (
  id uuid PRIMARY KEY,
  noticed_at timestamptz NOT NULL DEFAULT now(),
  -- An operator said so, a transaction outside of the database is missing in it, or a processor knew a reference before it
  -- was sent.
  noticed_by text NOT NULL CHECK (noticed_by IN ('operator', 'high_water_mark', 'earlier_result')),
  detail text NOT NULL,
  -- The latest transaction that the books had then. What processors executed since may be missing.
  books_until timestamptz,
  reconciled_at timestamptz,
  -- By the clocks of the processors: what they executed before is known.
  reconciled_until timestamptz,
  CHECK ((reconciled_at IS NULL) = (reconciled_until IS NULL))
);
CREATE UNIQUE INDEX restores_open ON restores ((reconciled_at IS NULL)) WHERE reconciled_at IS NULL;

-- What a processor executed and the books did not have when they were compared.
CREATE TABLE missing_operations (
  company_id uuid NOT NULL,
  reference uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('charge', 'refund', 'void')),
  charge_reference uuid,
  amount bigint,
  currency text,
  card_last4 text,
  processor_transaction_id text NOT NULL,
  executed_at timestamptz NOT NULL,
  -- The order that it belongs to, where that is known.
  order_id uuid,
  subscription_id uuid,
  subscription_cycle integer,
  found_at timestamptz NOT NULL DEFAULT now(),
  -- An operator has dealt with it at the processor.
  dismissed_at timestamptz,
  PRIMARY KEY (company_id, reference)
);
