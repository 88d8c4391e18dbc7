-- The requests of the API, for the people who call it: cut by the day, since they are kept for days only. Bodies are masked
-- before they come here.
CREATE TABLE requests (
  company_id uuid NOT NULL,
  -- By the real clock, also in a sandbox whose clock was moved.
  id uuid NOT NULL,
  request_id text NOT NULL,
  method text NOT NULL,
  path text NOT NULL,
  query text,
  status smallint NOT NULL,
  duration_ms integer NOT NULL,
  actor_kind text NOT NULL CHECK (actor_kind IN ('key', 'member')),
  actor_id uuid NOT NULL,
  actor_name text NOT NULL,
  address text NOT NULL,
  api_version text,
  idempotency_key text,
  request_body text,
  response_body text,
  inserted_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (company_id, id, inserted_at)
) PARTITION BY RANGE (inserted_at);
CREATE TABLE requests_default PARTITION OF requests DEFAULT;
CREATE INDEX requests_request ON requests (company_id, request_id);

-- As before, and for tables that are cut by the day.
CREATE OR REPLACE FUNCTION maintain_partitions(parent text, retention interval) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  unit text := CASE parent WHEN 'requests' THEN 'day' ELSE 'week' END;
  step interval := ('1 ' || unit)::interval;
  starts timestamptz[];
  old text[];
  start timestamptz;
  name text;
BEGIN
  IF parent <> ALL (ARRAY['events', 'webhook_deliveries', 'webhook_delivery_logs', 'requests']) THEN
    RAISE 'not a table with pieces: %', parent;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('maintain_partitions', 0));
  SELECT array_agg(s) INTO starts
  FROM generate_series(date_trunc(unit, now()), now() + 3 * step, step) AS s
  WHERE to_regclass(parent || '_' || to_char(s, 'YYYYMMDD')) IS NULL;
  SELECT array_agg(c.relname) INTO old FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = parent::regclass AND c.relname ~ '_\d{8}$'
    AND to_date(right(c.relname, 8), 'YYYYMMDD') + step < now() - retention;
  IF starts IS NOT NULL OR old IS NOT NULL THEN EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', parent); END IF;
  FOREACH start IN ARRAY coalesce(starts, '{}') LOOP
    name := parent || '_' || to_char(start, 'YYYYMMDD');
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS) WITH (fillfactor = %s)', name, parent,
      CASE parent WHEN 'webhook_deliveries' THEN 50 ELSE 100 END);
    EXECUTE format('WITH moved AS (DELETE FROM %I WHERE inserted_at >= %L AND inserted_at < %L RETURNING *)
      INSERT INTO %I SELECT * FROM moved', parent || '_default', start, start + step, name);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, name, start, start + step);
  END LOOP;
  FOREACH name IN ARRAY coalesce(old, '{}') LOOP
    EXECUTE format('DROP TABLE %I', name);
  END LOOP;
  EXECUTE format('DELETE FROM %I WHERE inserted_at < now() - %L::interval', parent || '_default', retention);
END $$;
