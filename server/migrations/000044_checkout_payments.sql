-- expand, runs with 0.1.0
-- One row for each time a customer pays a session. The order is created under an idempotency key that is made of the
-- session and the number, so a payment whose process died can be continued by any other.
CREATE TABLE checkout_payments (
  company_id uuid NOT NULL,
  session_id uuid NOT NULL,
  number integer NOT NULL,
  state text NOT NULL CHECK (state IN ('open', 'succeeded', 'ended')),
  -- The order or subscription to create, and the total that the customer saw.
  input jsonb NOT NULL,
  total bigint NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now(),
  -- By the clock of the company: then its idempotency key may be forgotten, and nothing more is created for it.
  valid_until timestamptz NOT NULL DEFAULT now() + interval '23 hours',
  check_at timestamptz,
  PRIMARY KEY (company_id, session_id, number),
  FOREIGN KEY (company_id, session_id) REFERENCES checkout_sessions (company_id, id) ON DELETE CASCADE,
  CHECK ((state = 'open') = (check_at IS NOT NULL))
);
-- A session has at most one payment that is in progress or has succeeded.
CREATE UNIQUE INDEX checkout_payments_one ON checkout_payments (company_id, session_id) WHERE state <> 'ended';
CREATE INDEX checkout_payments_due ON checkout_payments (check_at) WHERE state = 'open';
