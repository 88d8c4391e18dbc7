-- expand, runs with 0.1.0
-- A reusable link: each visit opens a checkout session.
CREATE TABLE payment_links (
  company_id uuid NOT NULL REFERENCES companies (id),
  id uuid NOT NULL,
  token_hash bytea NOT NULL,
  sealed_token bytea NOT NULL,
  name text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('payment', 'subscription')),
  items jsonb NOT NULL,
  plan_id uuid,
  success_url text,
  coupon_code text,
  allow_coupons boolean NOT NULL,
  collect text[] NOT NULL,
  metadata jsonb NOT NULL,
  active boolean NOT NULL DEFAULT true,
  max_payments integer,
  ends_at timestamptz,
  -- Payments that succeeded or are in progress, so that a limit holds for payments at the same time.
  payments integer NOT NULL DEFAULT 0,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, id),
  UNIQUE (company_id, token_hash),
  CHECK ((mode = 'subscription') = (plan_id IS NOT NULL))
);
