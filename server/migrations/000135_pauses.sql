-- expand, runs with 0.1.0

-- When a paused subscription continues by itself. Null if it is paused until the merchant resumes it.
ALTER TABLE subscriptions ADD COLUMN resume_at timestamptz;
-- A paused subscription is due when it continues.
ALTER TABLE subscriptions DROP CONSTRAINT subscriptions_check2;
ALTER TABLE subscriptions ADD CONSTRAINT subscriptions_due CHECK (
  due_at IS NULL OR status IN ('active', 'past_due') OR (status = 'paused' AND due_at IS NOT DISTINCT FROM resume_at)) NOT VALID;
