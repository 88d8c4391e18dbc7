-- When a delivery is due goes by the clock of its company from the first attempt on: it is what the company is shown.
CREATE OR REPLACE FUNCTION fan_out_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO webhook_deliveries (company_id, endpoint_id, event_id, event_inserted_at, next_attempt_at)
  SELECT e.company_id, w.id, e.id, e.inserted_at, now() + c.clock_offset_ms * interval '1 ms'
  FROM added e JOIN webhook_endpoints w ON w.company_id = e.company_id JOIN companies c ON c.id = e.company_id
  WHERE w.status = 'enabled' AND w.enabled_events && ARRAY['*', e.type, split_part(e.type, '.', 1) || '.*'];
  IF FOUND THEN PERFORM pg_notify('webhooks_due', ''); END IF;
  RETURN NULL;
END $$;

UPDATE webhook_deliveries d SET next_attempt_at = d.next_attempt_at + c.clock_offset_ms * interval '1 ms'
FROM companies c
WHERE c.id = d.company_id AND c.clock_offset_ms > 0 AND d.status = 'pending' AND d.next_attempt_at <= now();
