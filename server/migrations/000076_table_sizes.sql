-- expand, runs with 0.1.0
-- The size of each table once a day, from which svc doctor computes the growth.
CREATE TABLE table_sizes (
  measured_on date NOT NULL,
  table_name text NOT NULL,
  bytes bigint NOT NULL,
  rows bigint NOT NULL,
  PRIMARY KEY (measured_on, table_name)
);

-- The role of the service may not delete audit entries. It may have old ones deleted: never those of the last year by people, nor
-- those of the last 30 days by API keys, by the clock of the database. Null keeps the entries of that kind.
CREATE FUNCTION forget_audit_entries(people_days integer, key_days integer, most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  -- The first id of the millisecond: ids begin with their time.
  people uuid := (lpad(to_hex((extract(epoch FROM now() - greatest(people_days, 365) * interval '1 day') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
  keys uuid := (lpad(to_hex((extract(epoch FROM now() - greatest(key_days, 30) * interval '1 day') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;
  deleted integer;
BEGIN
  -- greatest() ignores null.
  IF people_days IS NULL THEN people := '00000000-0000-0000-0000-000000000000'; END IF;
  IF key_days IS NULL THEN keys := '00000000-0000-0000-0000-000000000000'; END IF;
  WITH old AS (
    SELECT e.company_id, e.id FROM companies c CROSS JOIN LATERAL (
      SELECT a.company_id, a.id FROM audit_entries a
      WHERE a.company_id = c.id AND a.id < greatest(people, keys)
        AND a.id < CASE WHEN a.actor_kind = 'key' THEN keys ELSE people END
      ORDER BY a.id LIMIT most
    ) e WHERE c.id <> ALL (ARRAY(SELECT f.company_id FROM company_fences f)) LIMIT most
  ), gone AS (DELETE FROM audit_entries a USING old WHERE a.company_id = old.company_id AND a.id = old.id RETURNING 1)
  SELECT count(*) INTO deleted FROM gone;
  RETURN deleted;
END $$;
