-- expand, runs with 0.1.0
-- A customer can end the renewal of a subscription, and undo it until the paid period ends.
ALTER TABLE subscriptions
  ADD COLUMN renewal_ended_at timestamptz,
  ADD COLUMN earlier_end_date text CHECK (earlier_end_date ~ '^\d{4}-\d\d-\d\d$'),
  ADD CONSTRAINT subscriptions_renewal_end CHECK (renewal_ended_at IS NOT NULL OR earlier_end_date IS NULL) NOT VALID;
ALTER TABLE subscriptions VALIDATE CONSTRAINT subscriptions_renewal_end;
