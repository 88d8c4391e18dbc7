-- expand, runs with 0.1.0
-- The days of a company's figures are days of this zone.
ALTER TABLE companies ADD COLUMN time_zone text NOT NULL DEFAULT 'UTC';

-- Up to which time the days of a company are in figure_days. Later days are summed when they are read.
CREATE TABLE figure_states (
  company_id uuid PRIMARY KEY REFERENCES companies (id) ON DELETE CASCADE,
  -- Empty until the first days are added.
  zone text NOT NULL DEFAULT '',
  zone_since timestamptz NOT NULL DEFAULT '-infinity',
  -- The offset of the clock that the company has had for a while; -1 if it is not known.
  clock_offset_ms bigint NOT NULL DEFAULT -1,
  days_until timestamptz NOT NULL DEFAULT 'epoch',
  -- Subscriptions after this id may be older than their first movement. Null: none is.
  movements_after uuid,
  -- By the clock of the server: when there is something to do.
  due_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX figure_states_due ON figure_states (due_at);

-- A new company, another time zone and a moved clock make a company due, so that the worker need not compare all of them.
CREATE FUNCTION make_figures_due() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO figure_states (company_id) VALUES (NEW.id) ON CONFLICT (company_id) DO UPDATE SET due_at = now();
  RETURN NULL;
END $$;
CREATE TRIGGER companies_figures AFTER INSERT OR UPDATE OF time_zone, clock_offset_ms, clock_moved_until ON companies
  FOR EACH ROW EXECUTE FUNCTION make_figures_due();

-- The sums of a day that has ended. A day before days_until that has no row had no activity.
CREATE TABLE figure_days (
  company_id uuid NOT NULL REFERENCES companies (id),
  starts_at timestamptz NOT NULL,
  zone text NOT NULL,
  day date NOT NULL,
  ends_at timestamptz NOT NULL,
  -- By currency. Null until the day is summed.
  figures jsonb,
  -- By the clock of the server: when the day can be summed.
  due_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, starts_at, zone),
  CHECK (starts_at < ends_at)
);
CREATE INDEX figure_days_due ON figure_days (due_at) WHERE figures IS NULL;
CREATE INDEX figure_days_unsummed ON figure_days (company_id, due_at) WHERE figures IS NULL;

-- Times of changed rows in days that may have been summed: until the day is summed again, its sums do not count.
CREATE TABLE figure_marks (
  company_id uuid NOT NULL REFERENCES companies (id),
  at timestamptz NOT NULL,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  PRIMARY KEY (company_id, at, id)
);

-- Changes of monthly recurring revenue. The sum up to a time is the revenue at that time.
CREATE TABLE subscription_movements (
  company_id uuid NOT NULL,
  subscription_id uuid NOT NULL,
  number integer NOT NULL CHECK (number > 0),
  at timestamptz NOT NULL,
  currency text NOT NULL,
  monthly bigint NOT NULL,
  subscribers smallint NOT NULL CHECK (subscribers BETWEEN -1 AND 1),
  -- 1 if the subscription was canceled, was completed or failed.
  ended smallint NOT NULL CHECK (ended IN (0, 1)),
  PRIMARY KEY (company_id, subscription_id, number),
  FOREIGN KEY (company_id, subscription_id) REFERENCES subscriptions (company_id, id) ON DELETE CASCADE
);
CREATE INDEX subscription_movements_at ON subscription_movements (company_id, at);

-- The time in an ID, and the smallest ID of a time.
CREATE FUNCTION id_time(id uuid) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT timestamptz 'epoch' + ('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint * interval '1 ms'
$$;
CREATE FUNCTION first_id(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT rpad(lpad(to_hex(greatest(0, floor(extract(epoch FROM at) * 1000)::bigint)), 12, '0'), 32, '0')::uuid
$$;

-- The day of a time. A day begins when its date begins for the last time: where clocks go back to midnight, the hour that
-- is repeated belongs to the day before.
CREATE FUNCTION day_at(at timestamptz, zone text) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN day::timestamp AT TIME ZONE zone > at THEN day - 1 ELSE day END
  FROM (SELECT (at AT TIME ZONE zone)::date AS day) d
$$;

-- What a subscription bills in a month, after the discount of the cycle. A coupon that cannot be read discounts nothing: figures must
-- not stop a renewal.
CREATE FUNCTION monthly_amount(amount bigint, unit text, unit_count integer, coupon json, cycle integer) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT round((amount - coalesce(CASE
      WHEN coupon IS NULL OR json_typeof(coupon->'percentage') NOT IN ('number', 'null') OR NOT (coupon->>'duration' = 'forever' OR cycle <= CASE coupon->>'duration'
        WHEN 'repeating' THEN (coupon->>'duration_in_cycles')::integer ELSE 1 END) THEN 0
      WHEN coupon->>'percentage' IS NULL THEN least((coupon->>'amount')::bigint, amount)
      ELSE least(floor(amount * round((coupon->>'percentage')::numeric * 100) / 10000),
        (coupon->>'max_discount_amount')::bigint)
    END, 0)) * CASE unit WHEN 'day' THEN 365::numeric / 12 ELSE 1 END / unit_count)::bigint
$$;

-- The figures of a company from a time until before another, by currency. What has no currency is under ''.
CREATE FUNCTION figures_between(of_company uuid, first timestamptz, next timestamptz) RETURNS jsonb
LANGUAGE sql STABLE AS $$
  WITH paid AS (
    SELECT currency, sum(amount) FILTER (WHERE is_paid) AS gross, count(*) FILTER (WHERE is_paid) AS payments,
      sum(amount) FILTER (WHERE is_refund) AS refunded
    FROM (SELECT currency, amount, type = 'sale' AND status IN ('succeeded', 'chargeback') AS is_paid,
        type = 'refund' AND status = 'succeeded' AS is_refund
      FROM transactions WHERE company_id = of_company AND id >= first_id(first) AND id < first_id(next)) t GROUP BY 1
  ), failed AS (
    -- Both conditions: the second one is that of the index.
    SELECT currency, failure_code, count(*) AS count FROM transactions
    WHERE company_id = of_company AND status = 'failed' AND status <> 'succeeded' AND type = 'sale'
      AND id >= first_id(first) AND id < first_id(next) GROUP BY 1, 2
  ), moved AS (
    SELECT currency, sum(monthly) AS monthly, sum(subscribers) AS subscribers, sum(ended) AS ended
    FROM subscription_movements WHERE company_id = of_company AND at >= first AND at < next GROUP BY 1
  ), parts (currency, name, value) AS (
    SELECT currency, 'gross', gross FROM paid
    UNION ALL SELECT currency, 'payments', payments FROM paid
    UNION ALL SELECT currency, 'refunded', refunded FROM paid
    UNION ALL SELECT currency, 'failed', count FROM failed
    UNION ALL SELECT currency, 'failed:' || failure_code, count FROM failed
    UNION ALL SELECT currency, 'disputed', amount FROM disputes
      WHERE company_id = of_company AND id >= first_id(first) AND id < first_id(next)
        AND state IN ('needs_response', 'under_review', 'lost', 'accepted')
    UNION ALL SELECT currency, 'monthly', monthly FROM moved
    UNION ALL SELECT currency, 'subscribers', subscribers FROM moved
    UNION ALL SELECT currency, 'ended', ended FROM moved
    -- A customer that was deleted since still counts.
    UNION ALL SELECT '', 'customers', count(*) FROM customers
      WHERE company_id = of_company AND id >= first_id(first) AND id < first_id(next)
    UNION ALL SELECT '', 'customers', count(*) FROM tombstones
      WHERE company_id = of_company AND id >= first_id(first) AND id < first_id(next) AND object_type = 'customer'
  ), totals AS (
    SELECT currency, name, sum(value) AS value FROM parts GROUP BY 1, 2 HAVING sum(value) <> 0
  )
  SELECT coalesce(jsonb_object_agg(currency, of_currency), '{}')
  FROM (SELECT currency, jsonb_object_agg(name, value) AS of_currency FROM totals GROUP BY 1) by_currency
$$;

-- The first time from which a company has anything to sum, now or when an open operation ends.
CREATE FUNCTION next_activity(of_company uuid, since timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT least(
    (SELECT id_time(id) FROM transactions WHERE company_id = of_company AND id >= first_id(since) ORDER BY id LIMIT 1),
    (SELECT id_time(id) FROM disputes WHERE company_id = of_company AND id >= first_id(since) ORDER BY id LIMIT 1),
    (SELECT id_time(id) FROM customers WHERE company_id = of_company AND id >= first_id(since) ORDER BY id LIMIT 1),
    (SELECT id_time(id) FROM tombstones WHERE company_id = of_company AND id >= first_id(since) ORDER BY id LIMIT 1),
    (SELECT at FROM subscription_movements WHERE company_id = of_company AND at >= since ORDER BY at LIMIT 1),
    (SELECT min(id_time(id)) FROM open_transactions
      WHERE company_id = of_company AND id >= first_id(since) AND type <> 'void'))
$$;

CREATE FUNCTION mark_figures(of_company uuid, changed timestamptz) RETURNS void LANGUAGE sql AS $$
  INSERT INTO figure_marks (company_id, at)
  SELECT of_company, changed FROM figure_states s WHERE s.company_id = of_company AND s.days_until > changed
$$;
CREATE FUNCTION mark_changed_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM mark_figures(NEW.company_id, id_time(NEW.id));
  RETURN NULL;
END $$;
-- Only on changes: an outcome that is inserted costs nothing more.
CREATE TRIGGER transactions_figures AFTER UPDATE OF status ON transactions
  FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION mark_changed_row();
CREATE TRIGGER disputes_figures AFTER UPDATE OF state, amount ON disputes
  FOR EACH ROW WHEN (OLD.state <> NEW.state OR OLD.amount <> NEW.amount) EXECUTE FUNCTION mark_changed_row();

-- The movements of a subscription that is older than the table: one at its start, and one at its end or pause. What
-- happened between is not known any more. The worker and a change of the subscription may add them at once: the first wins.
CREATE FUNCTION add_first_movements(s subscriptions) RETURNS void LANGUAGE sql AS $$
  INSERT INTO subscription_movements (company_id, subscription_id, number, at, currency, monthly, subscribers, ended)
  SELECT s.company_id, s.id, number, at, s.currency, subscribers * monthly_amount(s.amount, s."interval", s.interval_count,
    s.coupon, greatest(s.current_cycle, 1) + 1), subscribers, ended
  FROM (VALUES (1, id_time(s.id), 1, 0), (2, coalesce(s.canceled_at, s.completed_at, s.updated_at), -1,
    (s.status <> 'paused')::integer)) moved (number, at, subscribers, ended)
  WHERE (s.status IN ('active', 'past_due') OR (s.status <> 'pending' AND s.current_cycle > 0))
    AND (number = 1 OR s.status IN ('canceled', 'completed', 'failed', 'paused')) AND NOT EXISTS (
      SELECT 1 FROM subscription_movements m WHERE m.company_id = s.company_id AND m.subscription_id = s.id)
  ON CONFLICT DO NOTHING
$$;

-- Writes the difference to what the movements of the subscription add up to.
CREATE FUNCTION record_movement() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  counts boolean := NEW.status IN ('active', 'past_due');
  monthly_now bigint := CASE WHEN counts THEN monthly_amount(NEW.amount, NEW."interval", NEW.interval_count, NEW.coupon,
    greatest(NEW.current_cycle, 1) + 1) ELSE 0 END;
  has_ended boolean := NEW.status IN ('canceled', 'completed', 'failed');
  earlier record;
BEGIN
  FOR attempt IN 1..2 LOOP
    SELECT coalesce(sum(m.monthly), 0) AS monthly, coalesce(sum(m.subscribers), 0) AS subscribers,
      coalesce(max(m.number), 0) AS number INTO earlier
    FROM subscription_movements m WHERE m.company_id = NEW.company_id AND m.subscription_id = NEW.id;
    EXIT WHEN earlier.number > 0 OR TG_OP = 'INSERT';
    EXIT WHEN OLD.status = 'pending';
    PERFORM add_first_movements(OLD);
  END LOOP;
  IF earlier.monthly = monthly_now AND earlier.subscribers = counts::integer THEN RETURN NULL; END IF;
  -- A paused subscription does not count, so its end takes nothing away.
  INSERT INTO subscription_movements (company_id, subscription_id, number, at, currency, monthly, subscribers, ended)
  VALUES (NEW.company_id, NEW.id, earlier.number + 1, NEW.updated_at, NEW.currency, monthly_now - earlier.monthly,
    counts::integer - earlier.subscribers, (has_ended AND earlier.subscribers = 1)::integer);
  PERFORM mark_figures(NEW.company_id, NEW.updated_at);
  RETURN NULL;
END $$;
CREATE TRIGGER subscriptions_started AFTER INSERT ON subscriptions
  FOR EACH ROW WHEN (NEW.status IN ('active', 'past_due')) EXECUTE FUNCTION record_movement();
-- A renewal changes none of this, unless a discount can end with it.
CREATE TRIGGER subscriptions_moved AFTER UPDATE ON subscriptions FOR EACH ROW
  WHEN (OLD.status <> NEW.status OR OLD."interval" <> NEW."interval" OR OLD.interval_count <> NEW.interval_count
    OR OLD.amount <> NEW.amount OR OLD.coupon::text IS DISTINCT FROM NEW.coupon::text
    OR (OLD.current_cycle <> NEW.current_cycle AND NEW.coupon->>'duration' = 'repeating'))
  EXECUTE FUNCTION record_movement();
