-- How declined renewals are tried again, and what becomes of a subscription when all of that was in vain.
ALTER TABLE companies
  ADD COLUMN dunning_days smallint[] NOT NULL DEFAULT '{1,3,5,7}' CHECK (cardinality(dunning_days) BETWEEN 1 AND 10),
  ADD COLUMN after_dunning text NOT NULL DEFAULT 'failed' CHECK (after_dunning IN ('failed', 'canceled')),
  -- Real time. Until then somebody moves the clock of this company, and does what falls due.
  ADD COLUMN clock_moved_until timestamptz;

CREATE TABLE subscriptions (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  customer_id uuid NOT NULL,
  plan_id uuid NOT NULL,
  payment_method_id uuid NOT NULL,
  card_brand text NOT NULL,
  card_last4 text NOT NULL,
  -- Pending: its first charge is under way. Nobody sees it before that is decided.
  status text NOT NULL CHECK (status IN ('pending', 'active', 'paused', 'past_due', 'failed', 'canceled', 'completed')),
  -- As they were when it was made; a later change of the plan does not reach them.
  plan_name text NOT NULL,
  amount bigint NOT NULL CHECK (amount >= 0),
  one_time_amount bigint NOT NULL CHECK (one_time_amount >= 0),
  currency text NOT NULL,
  items json NOT NULL,
  interval text NOT NULL CHECK (interval IN ('day', 'month')),
  interval_count integer NOT NULL CHECK (interval_count BETWEEN 1 AND CASE interval WHEN 'day' THEN 365 ELSE 60 END),
  anchor_day smallint CHECK (anchor_day BETWEEN 1 AND 31),
  billing_cycles integer NOT NULL CHECK (billing_cycles >= 0),
  end_date text CHECK (end_date ~ '^\d{4}-\d\d-\d\d$'),
  coupon json,
  description text,
  shipping json,
  shipping_address_id uuid,
  metadata json NOT NULL,
  start_at timestamptz NOT NULL,
  -- Dates are counted from here: the start, or the period in which the cadence was changed.
  base_at timestamptz NOT NULL,
  -- The number, counted from the base, of the next date on which a cycle begins.
  next_number integer NOT NULL CHECK (next_number >= 0),
  current_cycle integer NOT NULL CHECK (current_cycle >= 0),
  completed_cycles integer NOT NULL CHECK (completed_cycles BETWEEN 0 AND current_cycle),
  current_period_start timestamptz,
  current_period_end timestamptz,
  -- When something is to be done next: bill, try again, give up or complete. Empty while a charge is under way.
  due_at timestamptz,
  first_declined_at timestamptz,
  next_retry_at timestamptz,
  attempt_count integer NOT NULL,
  last_failure_message text,
  latest_order_id uuid,
  canceled_at timestamptz,
  completed_at timestamptz,
  -- Counts its events.
  sequence integer NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, id),
  FOREIGN KEY (company_id, customer_id) REFERENCES customers (company_id, id),
  FOREIGN KEY (company_id, plan_id) REFERENCES plans (company_id, id),
  FOREIGN KEY (company_id, payment_method_id) REFERENCES payment_methods (company_id, id),
  CHECK (status IN ('active', 'past_due') OR due_at IS NULL),
  CHECK ((status = 'canceled') = (canceled_at IS NOT NULL)),
  CHECK ((status = 'completed') = (completed_at IS NOT NULL))
) WITH (fillfactor = 80);
CREATE INDEX subscriptions_customer ON subscriptions (company_id, customer_id, id);
CREATE INDEX subscriptions_plan ON subscriptions (company_id, plan_id, id);
CREATE INDEX subscriptions_status ON subscriptions (company_id, status, id);
CREATE INDEX subscriptions_card ON subscriptions (company_id, payment_method_id);
CREATE INDEX subscriptions_due ON subscriptions (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX subscriptions_due_of_company ON subscriptions (company_id, due_at) WHERE due_at IS NOT NULL;

-- One order for each cycle, and one for the first charge, which has a cycle only once it has succeeded.
ALTER TABLE orders
  ADD FOREIGN KEY (company_id, subscription_id) REFERENCES subscriptions (company_id, id),
  ADD CHECK (subscription_cycle IS NULL OR subscription_id IS NOT NULL);
CREATE UNIQUE INDEX orders_cycle ON orders (company_id, subscription_id, subscription_cycle)
  WHERE subscription_id IS NOT NULL AND subscription_cycle IS NOT NULL;
CREATE INDEX orders_subscription ON orders (company_id, subscription_id, id) WHERE subscription_id IS NOT NULL;
CREATE UNIQUE INDEX orders_first_charge ON orders (company_id, subscription_id)
  WHERE subscription_id IS NOT NULL AND (subscription_cycle IS NULL OR subscription_cycle = 1);
