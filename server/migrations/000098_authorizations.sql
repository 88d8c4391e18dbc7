-- expand, runs with 0.1.0

-- A charge can be authorized first and captured later. These columns are null for every other order.
ALTER TABLE orders
  ADD COLUMN authorized_amount bigint,
  -- What was captured of it; null for an order that was charged at once, of which the total was.
  ADD COLUMN captured_amount bigint,
  -- Until when the held funds can be captured. Null unless funds are held now.
  ADD COLUMN capture_before timestamptz;
ALTER TABLE orders
  ADD CONSTRAINT orders_authorized_at_most_total
    CHECK (authorized_amount IS NULL OR (authorized_amount > 0 AND authorized_amount <= total)) NOT VALID,
  ADD CONSTRAINT orders_captured_at_most_authorized
    CHECK (captured_amount IS NULL OR (captured_amount > 0 AND captured_amount <= authorized_amount
      AND sale_id IS NOT NULL)) NOT VALID,
  ADD CONSTRAINT orders_refunded_at_most_captured
    CHECK (captured_amount IS NULL OR refunded_amount <= captured_amount) NOT VALID,
  ADD CONSTRAINT orders_held_while_pending
    CHECK (capture_before IS NULL OR (status = 'pending' AND authorized_amount IS NOT NULL)) NOT VALID;
-- An authorization that was released has taken no money.
ALTER TABLE orders DROP CONSTRAINT orders_sale;
ALTER TABLE orders ADD CONSTRAINT orders_sale CHECK (CASE
  WHEN status IN ('pending', 'failed') THEN sale_id IS NULL
  ELSE sale_id IS NOT NULL OR total = 0 OR (status = 'voided' AND authorized_amount IS NOT NULL AND captured_amount IS NULL)
  END) NOT VALID;

-- An authorization is an `auth`; its capture is a `sale` with the cause `capture`.
ALTER TABLE open_transactions DROP CONSTRAINT open_transactions_type_check;
ALTER TABLE open_transactions ADD CONSTRAINT open_transactions_type_check
  CHECK (type IN ('sale', 'auth', 'refund', 'void')) NOT VALID;
ALTER TABLE open_transactions DROP CONSTRAINT open_transactions_waiting;
ALTER TABLE open_transactions ADD CONSTRAINT open_transactions_waiting
  CHECK (NOT waiting OR (type IN ('sale', 'auth') AND NOT in_doubt)) NOT VALID;
ALTER TABLE open_transactions DROP CONSTRAINT open_transactions_cause_check;
ALTER TABLE open_transactions ADD CONSTRAINT open_transactions_cause_check CHECK (
  CASE type
    WHEN 'sale' THEN cause IN ('order', 'retry', 'first_charge', 'renewal', 'capture')
    WHEN 'auth' THEN cause IN ('order', 'retry')
    ELSE cause = type
  END) NOT VALID;
ALTER TABLE open_transactions ADD CONSTRAINT open_transactions_capture_never_waits
  CHECK (cause <> 'capture' OR state <> 'waiting') NOT VALID;

-- What the processors executed, and a restored database has forgotten.
ALTER TABLE missing_operations DROP CONSTRAINT missing_operations_kind_check;
ALTER TABLE missing_operations ADD CONSTRAINT missing_operations_kind_check
  CHECK (kind IN ('charge', 'authorization', 'capture', 'refund', 'void')) NOT VALID;
