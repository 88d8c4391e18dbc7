-- Growing tables are cut by the week of their insertion (real time) and dropped by the piece. The default piece takes what
-- comes when nobody has made one in time.
ALTER TABLE events RENAME TO events_before;
ALTER INDEX events_pkey RENAME TO events_before_pkey;
CREATE TABLE events (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  type text NOT NULL,
  object_id uuid NOT NULL,
  sequence integer NOT NULL,
  request_id text,
  object json NOT NULL,
  previous json,
  inserted_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (company_id, id, inserted_at)
) PARTITION BY RANGE (inserted_at);
CREATE TABLE events_default PARTITION OF events DEFAULT;
-- The story of one object.
CREATE INDEX events_object ON events (company_id, object_id, id);
INSERT INTO events (company_id, id, type, object_id, sequence, request_id, object, inserted_at)
  SELECT company_id, id, type, object_id, sequence, request_id, object, inserted_at FROM events_before;
DROP TABLE events_before;

-- Counts the events of a customer.
ALTER TABLE customers ADD COLUMN sequence integer NOT NULL DEFAULT 1;

CREATE TABLE webhook_endpoints (
  company_id uuid NOT NULL REFERENCES companies (id),
  id uuid NOT NULL,
  url text NOT NULL,
  description text,
  enabled_events text[] NOT NULL CHECK (cardinality(enabled_events) > 0),
  status text NOT NULL CHECK (status IN ('enabled', 'disabled')),
  disabled_reason text,
  api_version text NOT NULL,
  -- Sealed: they sign, so they must be readable, but not by who reads the table.
  secret bytea NOT NULL,
  previous_secret bytea,
  previous_secret_until timestamptz,
  -- By the clock of the company: since when there was nothing but failures.
  failing_since timestamptz,
  -- Counts its events.
  sequence integer NOT NULL DEFAULT 0,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, id),
  CHECK ((previous_secret IS NULL) = (previous_secret_until IS NULL))
);

-- An event on its way to an endpoint.
CREATE TABLE webhook_deliveries (
  company_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  event_id uuid NOT NULL,
  event_inserted_at timestamptz NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
  attempts integer NOT NULL DEFAULT 0,
  last_attempt_at timestamptz,
  -- By the clock of the company.
  next_attempt_at timestamptz,
  -- The worker that is at it. One that is no longer seen has lost it.
  claimed_by uuid,
  inserted_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (company_id, endpoint_id, event_id, inserted_at),
  CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL))
) PARTITION BY RANGE (inserted_at);
-- Room for the version that a claim makes: no index knows of claims, so it stays in its page and touches none of them.
CREATE TABLE webhook_deliveries_default PARTITION OF webhook_deliveries DEFAULT WITH (fillfactor = 50);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_failed ON webhook_deliveries (company_id, endpoint_id, event_id)
  WHERE status = 'failed';

CREATE TABLE webhook_delivery_logs (
  company_id uuid NOT NULL,
  endpoint_id uuid NOT NULL,
  id uuid NOT NULL,
  event_id uuid NOT NULL,
  event_type text NOT NULL,
  attempt integer NOT NULL,
  status text NOT NULL CHECK (status IN ('success', 'failed')),
  http_status smallint,
  duration_ms integer NOT NULL,
  error text,
  request_headers json NOT NULL,
  response_body text,
  inserted_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (company_id, endpoint_id, id, inserted_at)
) PARTITION BY RANGE (inserted_at);
CREATE TABLE webhook_delivery_logs_default PARTITION OF webhook_delivery_logs DEFAULT;

CREATE TABLE workers (
  id uuid PRIMARY KEY,
  seen_at timestamptz NOT NULL
);

-- Whoever inserts an event need not think of its receivers.
CREATE FUNCTION fan_out_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO webhook_deliveries (company_id, endpoint_id, event_id, event_inserted_at, next_attempt_at)
  SELECT e.company_id, w.id, e.id, e.inserted_at, now()
  FROM added e JOIN webhook_endpoints w ON w.company_id = e.company_id
  WHERE w.status = 'enabled' AND w.enabled_events && ARRAY['*', e.type, split_part(e.type, '.', 1) || '.*'];
  IF FOUND THEN PERFORM pg_notify('webhooks_due', ''); END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER events_fan_out AFTER INSERT ON events
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION fan_out_events();

-- Makes the pieces of this week and the next ones, and drops those whose last row is older than the retention. Runs with
-- the rights of the owner: the program itself may not change tables. One table for each transaction, and locked as a whole
-- before anything else: whoever writes or reads waits at the door and then finds the pieces as they are.
CREATE FUNCTION maintain_partitions(parent text, retention interval) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
  weeks timestamptz[];
  old text[];
  week timestamptz;
  name text;
BEGIN
  IF parent <> ALL (ARRAY['events', 'webhook_deliveries', 'webhook_delivery_logs']) THEN
    RAISE 'not a table with pieces: %', parent;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('maintain_partitions', 0));
  SELECT array_agg(w) INTO weeks
  FROM generate_series(date_trunc('week', now()), now() + interval '3 weeks', interval '1 week') AS w
  WHERE to_regclass(parent || '_' || to_char(w, 'YYYYMMDD')) IS NULL;
  SELECT array_agg(c.relname) INTO old FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = parent::regclass AND c.relname ~ '_\d{8}$'
    AND to_date(right(c.relname, 8), 'YYYYMMDD') + 7 < now() - retention;
  IF weeks IS NOT NULL OR old IS NOT NULL THEN EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', parent); END IF;
  FOREACH week IN ARRAY coalesce(weeks, '{}') LOOP
    name := parent || '_' || to_char(week, 'YYYYMMDD');
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS) WITH (fillfactor = %s)', name, parent,
      CASE parent WHEN 'webhook_deliveries' THEN 50 ELSE 100 END);
    EXECUTE format('WITH moved AS (DELETE FROM %I WHERE inserted_at >= %L AND inserted_at < %L RETURNING *)
      INSERT INTO %I SELECT * FROM moved', parent || '_default', week, week + interval '1 week', name);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
      parent, name, week, week + interval '1 week');
  END LOOP;
  FOREACH name IN ARRAY coalesce(old, '{}') LOOP
    EXECUTE format('DROP TABLE %I', name);
  END LOOP;
  EXECUTE format('DELETE FROM %I WHERE inserted_at < now() - %L::interval', parent || '_default', retention);
END $$;

-- The events an endpoint was to receive, as its list shows them.
CREATE VIEW endpoint_events AS
  SELECT d.company_id, d.endpoint_id, d.event_id AS id, d.status, d.attempts, d.last_attempt_at, d.next_attempt_at,
    e.type, e.object, e.previous
  FROM webhook_deliveries d
  JOIN events e ON e.company_id = d.company_id AND e.id = d.event_id AND e.inserted_at = d.event_inserted_at;
