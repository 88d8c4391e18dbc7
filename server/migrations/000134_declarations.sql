-- expand, runs with 0.1.0

-- What customers declared on a page without signing in: that they cancel a subscription, or withdraw from a contract. The texts are
-- theirs. Order and customer are known if the order number belongs to a customer with this email address.
CREATE TABLE declarations (
  company_id uuid NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
  id uuid NOT NULL,
  -- The page makes it, so that a repeated request is one declaration.
  request uuid NOT NULL,
  kind text NOT NULL CONSTRAINT declarations_kind CHECK (kind IN ('cancel', 'withdraw')),
  name text NOT NULL,
  email text NOT NULL,
  contract text NOT NULL,
  message text,
  locale text NOT NULL,
  customer_id uuid,
  order_id uuid,
  subscription_id uuid,
  -- When the subscription ends that the declaration has canceled.
  ends_at timestamptz,
  handled_at timestamptz,
  PRIMARY KEY (company_id, id),
  CONSTRAINT declarations_of_order CHECK ((customer_id IS NULL) = (order_id IS NULL)),
  CONSTRAINT declarations_end_of_subscription CHECK (ends_at IS NULL OR (subscription_id IS NOT NULL AND kind = 'cancel'))
);
CREATE UNIQUE INDEX declarations_request ON declarations (company_id, request);
CREATE INDEX declarations_open ON declarations (company_id, id) WHERE handled_at IS NULL;
