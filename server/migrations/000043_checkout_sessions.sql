-- expand, runs with 0.1.0
-- A page on which a customer pays. The customer has no foreign key: a session does not keep a customer from being
-- deleted, and paying it is then refused.
CREATE TABLE checkout_sessions (
  company_id uuid NOT NULL REFERENCES companies (id),
  id uuid NOT NULL,
  -- The token in the URL of the page: its SHA-256, and while the page is open the token itself, encrypted.
  token_hash bytea NOT NULL,
  sealed_token bytea,
  mode text NOT NULL CHECK (mode IN ('payment', 'subscription')),
  status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'completed', 'expired')),
  items jsonb NOT NULL,
  plan_id uuid,
  customer_id uuid,
  -- The customer that a payment of the session created.
  made_customer_id uuid,
  success_url text,
  cancel_url text,
  coupon_code text,
  allow_coupons boolean NOT NULL,
  collect text[] NOT NULL,
  metadata jsonb NOT NULL,
  payment_link_id uuid,
  order_id uuid,
  subscription_id uuid,
  -- The number of payments that have ended without success.
  attempts integer NOT NULL DEFAULT 0,
  failure jsonb,
  expires_at timestamptz NOT NULL,
  completed_at timestamptz,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, id),
  UNIQUE (company_id, token_hash),
  CHECK ((mode = 'subscription') = (plan_id IS NOT NULL)),
  CHECK ((status = 'completed') = (completed_at IS NOT NULL)),
  CHECK (status <> 'completed' OR order_id IS NOT NULL),
  CHECK ((status = 'open') = (sealed_token IS NOT NULL))
);
CREATE INDEX checkout_sessions_customer ON checkout_sessions (company_id, customer_id, id) WHERE customer_id IS NOT NULL;
CREATE INDEX checkout_sessions_link ON checkout_sessions (company_id, payment_link_id, id) WHERE payment_link_id IS NOT NULL;
CREATE INDEX checkout_sessions_status ON checkout_sessions (company_id, status, id);
CREATE INDEX checkout_sessions_due ON checkout_sessions (expires_at) WHERE status = 'open';
CREATE INDEX checkout_sessions_due_of_company ON checkout_sessions (company_id, expires_at) WHERE status = 'open';
CREATE INDEX checkout_sessions_old ON checkout_sessions (expires_at) WHERE status = 'expired';
