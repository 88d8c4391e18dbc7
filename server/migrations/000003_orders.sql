-- Who charges a company's cards. The sandbox charges itself; a live company is connected by its merchant.
ALTER TABLE companies ADD COLUMN processor text CHECK (processor IN ('sandbox', 'acquirer'));
UPDATE companies SET processor = 'sandbox' WHERE mode = 'sandbox';
ALTER TABLE companies ADD CHECK (processor IS NULL OR (processor = 'sandbox') = (mode = 'sandbox'));

-- How to reach a processor is the vault's to know, like the cards.
CREATE TABLE vault.processor_connections (
  company_id uuid PRIMARY KEY,
  url text NOT NULL,
  timeout_ms integer NOT NULL CHECK (timeout_ms > 0),
  -- Only after this time does "not found" mean that a request never arrived.
  request_life_ms integer NOT NULL CHECK (request_life_ms > timeout_ms),
  key_version integer NOT NULL,
  wrapped_key bytea NOT NULL,
  sealed bytea NOT NULL
);

-- Sandbox cards whose outcome depends on what they were used for before, and nothing else of the sandbox.
CREATE TABLE vault.sandbox_operations (
  company_id uuid NOT NULL,
  reference uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('charge', 'refund')),
  behaviour text NOT NULL,
  card_id uuid NOT NULL,
  charge_reference uuid,
  approved boolean NOT NULL,
  failure_code text,
  PRIMARY KEY (company_id, reference)
);
CREATE INDEX sandbox_operations_card ON vault.sandbox_operations (company_id, card_id);
CREATE INDEX sandbox_operations_refunds ON vault.sandbox_operations (company_id, charge_reference)
  WHERE charge_reference IS NOT NULL;

-- Further numbers that decline, per company, as fingerprints.
CREATE TABLE vault.sandbox_declines (
  company_id uuid NOT NULL,
  fingerprint text NOT NULL,
  failure_code text NOT NULL,
  PRIMARY KEY (company_id, fingerprint)
);

-- Once true it stays so: a product that was ordered is never removed for good. Saves a row per item and order.
ALTER TABLE products ADD COLUMN ordered boolean NOT NULL DEFAULT false;

CREATE TABLE orders (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  order_number text NOT NULL,
  customer_id uuid NOT NULL,
  payment_method_id uuid NOT NULL,
  card_brand text NOT NULL,
  card_last4 text NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'succeeded', 'failed', 'voided', 'partially_refunded', 'refunded',
    'refund_failed', 'chargeback', 'chargeback_accepted', 'chargeback_dismissed')),
  -- As they were bought; a later change of the catalog does not reach them.
  items json NOT NULL,
  currency text NOT NULL,
  subtotal bigint NOT NULL CHECK (subtotal >= 0),
  discount_amount bigint NOT NULL CHECK (discount_amount >= 0),
  total bigint NOT NULL CHECK (total BETWEEN 0 AND 1000000000000),
  refunded_amount bigint NOT NULL CHECK (refunded_amount >= 0),
  coupon json,
  description text,
  shipping json,
  metadata json NOT NULL,
  subscription_id uuid,
  subscription_cycle integer,
  attempt_count integer NOT NULL,
  next_retry_at timestamptz,
  failure_code text,
  failure_reason text,
  request_id text,
  -- The one sale that succeeded. Whoever sets it finds it empty, or loses.
  sale_id uuid,
  -- Counts the order's events. Every change names the count it saw, and fails when it is no longer that one.
  sequence integer NOT NULL,
  -- The event that tells how the first charge ended: its text is what a repeated idempotency key is answered with.
  answer_event_id uuid,
  updated_at timestamptz NOT NULL,
  -- What a list filtered by status looks for. Empty for the two statuses every order passes through, so that the
  -- common update from one to the other touches no index.
  rare_status text GENERATED ALWAYS AS (CASE WHEN status IN ('pending', 'succeeded') THEN NULL ELSE status END) STORED,
  PRIMARY KEY (company_id, id),
  CONSTRAINT orders_number UNIQUE (company_id, order_number),
  FOREIGN KEY (company_id, customer_id) REFERENCES customers (company_id, id),
  FOREIGN KEY (company_id, payment_method_id) REFERENCES payment_methods (company_id, id),
  CHECK (total = subtotal - discount_amount),
  CONSTRAINT orders_refunded_at_most_total CHECK (refunded_amount <= total),
  CONSTRAINT orders_sale CHECK (
    CASE WHEN status IN ('pending', 'failed') THEN sale_id IS NULL ELSE sale_id IS NOT NULL OR total = 0 END),
  CHECK (status <> 'failed' OR failure_code IS NOT NULL)
) WITH (fillfactor = 80);
CREATE INDEX orders_customer ON orders (company_id, customer_id, id);
CREATE INDEX orders_total ON orders (company_id, total, id);
CREATE INDEX orders_rare_status ON orders (company_id, rare_status, id) WHERE rare_status IS NOT NULL;

-- Operations at the processor that are not over: written before the processor is called, and replaced by a row of
-- `transactions` when it is known how they ended. Small, whatever the number of orders.
CREATE TABLE open_transactions (
  company_id uuid NOT NULL,
  order_id uuid NOT NULL,
  -- An operation of which nothing is known yet has the order to itself; one that was taken on and only has to settle
  -- moves over to its own id. So an order has one open sale at most.
  slot uuid NOT NULL,
  id uuid NOT NULL,
  customer_id uuid NOT NULL,
  payment_method_id uuid NOT NULL,
  type text NOT NULL CHECK (type IN ('sale', 'refund', 'void')),
  amount bigint NOT NULL CHECK (amount > 0),
  currency text NOT NULL,
  card_brand text NOT NULL,
  card_last4 text NOT NULL,
  processor_response json,
  -- The request that asked for it, for the events that come of it.
  request_id text,
  updated_at timestamptz NOT NULL,
  -- Real time from here on, whatever the clock of the company says.
  opened_at timestamptz NOT NULL DEFAULT now(),
  -- Until then the process that opened it is taken to be at work on it.
  locked_until timestamptz NOT NULL,
  in_doubt boolean NOT NULL DEFAULT false,
  checks integer NOT NULL DEFAULT 0,
  next_check_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, order_id, slot),
  FOREIGN KEY (company_id, order_id) REFERENCES orders (company_id, id),
  CHECK (slot = id OR slot = '00000000-0000-0000-0000-000000000000'),
  CHECK (slot <> id OR type = 'refund')
);
CREATE INDEX open_transactions_due ON open_transactions (next_check_at);

-- Operations that are over.
CREATE TABLE transactions (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  order_id uuid NOT NULL,
  customer_id uuid NOT NULL,
  payment_method_id uuid NOT NULL,
  type text NOT NULL CHECK (type IN ('sale', 'refund', 'auth')),
  status text NOT NULL CHECK (status IN ('succeeded', 'failed', 'voided', 'chargeback')),
  amount bigint NOT NULL CHECK (amount > 0),
  currency text NOT NULL,
  card_brand text NOT NULL,
  card_last4 text NOT NULL,
  processor_response json,
  failure_code text,
  failure_reason text,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, id),
  FOREIGN KEY (company_id, order_id) REFERENCES orders (company_id, id),
  CHECK ((status = 'failed') = (failure_code IS NOT NULL))
);
CREATE INDEX transactions_order ON transactions (company_id, order_id, id);
CREATE UNIQUE INDEX transactions_one_successful_sale ON transactions (company_id, order_id)
  WHERE type = 'sale' AND status <> 'failed';
CREATE INDEX transactions_customer ON transactions (company_id, customer_id, id);
CREATE INDEX transactions_amount ON transactions (company_id, amount, id);
CREATE INDEX transactions_rare_status ON transactions (company_id, status, id) WHERE status <> 'succeeded';
CREATE INDEX transactions_rare_type ON transactions (company_id, type, id) WHERE type <> 'sale';

-- What the API calls transactions: the open ones and those that are over. A void is not one of them.
CREATE VIEW all_transactions AS
  SELECT company_id, id, order_id, customer_id, payment_method_id, type, status, amount, currency, card_brand,
    card_last4, processor_response, failure_code, failure_reason, updated_at
  FROM transactions
  UNION ALL
  SELECT company_id, id, order_id, customer_id, payment_method_id, type, 'in_progress', amount, currency, card_brand,
    card_last4, processor_response, NULL, NULL, updated_at
  FROM open_transactions WHERE type <> 'void';

-- Chargebacks that are to come, by the clock of the company.
CREATE TABLE scheduled_chargebacks (
  company_id uuid NOT NULL,
  order_id uuid NOT NULL,
  due_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, order_id),
  FOREIGN KEY (company_id, order_id) REFERENCES orders (company_id, id)
);

-- What happened, in the transaction in which it happened. `object` is the object as it was then. Its type keeps the text: an answer
-- made from it later has the very same bytes.
CREATE TABLE events (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  type text NOT NULL,
  object_id uuid NOT NULL,
  sequence integer NOT NULL,
  request_id text,
  object json NOT NULL,
  inserted_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (company_id, id)
);

-- The answer of a key may be still to come. `operation_id` is then the order or transaction the key is about.
ALTER TABLE idempotency_keys
  ADD COLUMN operation_id uuid,
  ALTER COLUMN status DROP NOT NULL,
  ALTER COLUMN body DROP NOT NULL,
  ADD CHECK ((status IS NULL) = (body IS NULL)),
  ADD CHECK (status IS NOT NULL OR operation_id IS NOT NULL);
