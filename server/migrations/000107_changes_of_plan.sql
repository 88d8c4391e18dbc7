-- expand, runs with 0.1.0

-- The number of the change of plan that the order pays for. Null for every other order, and not written by them.
ALTER TABLE orders ADD COLUMN subscription_change integer;
-- So the release before cannot record the outcome of a change as that of a first charge.
ALTER TABLE orders ADD CONSTRAINT orders_of_change CHECK (subscription_change IS NULL
  OR (subscription_change > 0 AND subscription_id IS NOT NULL AND subscription_cycle IS NULL)) NOT VALID;

ALTER TABLE open_transactions DROP CONSTRAINT open_transactions_cause_check;
ALTER TABLE open_transactions ADD CONSTRAINT open_transactions_cause_check CHECK (
  CASE type
    WHEN 'sale' THEN cause IN ('order', 'retry', 'first_charge', 'renewal', 'plan_change', 'capture')
    WHEN 'auth' THEN cause IN ('order', 'retry')
    ELSE cause = type
  END) NOT VALID;

ALTER TABLE subscriptions
  -- The seats. `amount` is for all of them.
  ADD COLUMN quantity integer NOT NULL DEFAULT 1,
  ADD COLUMN change_count integer NOT NULL DEFAULT 0,
  ADD COLUMN scheduled_change json,
  ADD COLUMN pending_change json,
  ADD COLUMN period_payment json,
  ADD COLUMN renewal_items json,
  ADD COLUMN restarted_at timestamptz;
ALTER TABLE subscriptions
  ADD CONSTRAINT subscriptions_quantity CHECK (quantity > 0 AND amount % quantity = 0) NOT VALID,
  -- A declined change of plan leaves the subscription active. The release before would take it for a first charge.
  ADD CONSTRAINT subscriptions_change_pending CHECK (pending_change IS NULL OR status <> 'failed'
    OR (pending_change ->> 'in_cycle')::integer <> current_cycle) NOT VALID;

-- What took effect. Rows are only added.
CREATE TABLE subscription_changes (
  company_id uuid NOT NULL,
  subscription_id uuid NOT NULL,
  number integer NOT NULL CHECK (number > 0),
  id uuid NOT NULL,
  order_id uuid,
  at timestamptz NOT NULL,
  recorded_at timestamptz NOT NULL,
  restarts boolean NOT NULL,
  before json NOT NULL,
  after json NOT NULL,
  lines json NOT NULL,
  PRIMARY KEY (company_id, subscription_id, number),
  CONSTRAINT subscription_changes_once UNIQUE (company_id, id),
  FOREIGN KEY (company_id, subscription_id) REFERENCES subscriptions (company_id, id) ON DELETE CASCADE
);
