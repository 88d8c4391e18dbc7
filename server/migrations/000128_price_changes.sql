-- expand, runs with 0.1.0

-- Moves the subscribers of a plan to another plan, each at its next renewal. The worker schedules the changes in batches.
CREATE TABLE price_changes (
  company_id uuid NOT NULL REFERENCES companies (id),
  id uuid NOT NULL,
  -- Null if an operator began it.
  member_id uuid,
  request_id text NOT NULL,
  plan_id uuid NOT NULL,
  to_plan_id uuid NOT NULL,
  -- The chosen subscriptions; null for all of the plan.
  chosen uuid[],
  state text NOT NULL DEFAULT 'running' CONSTRAINT price_changes_state CHECK (state IN ('running', 'paused', 'undone')),
  -- The last subscription that was added; all were added once `collected`.
  after_id uuid,
  collected boolean NOT NULL DEFAULT false,
  -- When the worker continues. Null if there is nothing to do.
  next_step_at timestamptz DEFAULT now(),
  PRIMARY KEY (company_id, id),
  FOREIGN KEY (company_id, plan_id) REFERENCES plans (company_id, id),
  FOREIGN KEY (company_id, to_plan_id) REFERENCES plans (company_id, id),
  CONSTRAINT price_changes_other_plan CHECK (plan_id <> to_plan_id)
);
CREATE INDEX price_changes_due ON price_changes (next_step_at) WHERE next_step_at IS NOT NULL;
CREATE INDEX price_changes_of_plan ON price_changes (company_id, plan_id, id);

CREATE TABLE price_change_subscriptions (
  company_id uuid NOT NULL,
  change_id uuid NOT NULL,
  subscription_id uuid NOT NULL,
  state text NOT NULL DEFAULT 'waiting'
    CONSTRAINT price_change_subscriptions_state CHECK (state IN ('waiting', 'scheduled', 'refused', 'undone')),
  -- When the worker tries to schedule it, by the clock of the machine.
  check_at timestamptz DEFAULT now(),
  -- The scheduled change of the subscription.
  scheduled_id uuid,
  reason text,
  PRIMARY KEY (company_id, change_id, subscription_id),
  FOREIGN KEY (company_id, change_id) REFERENCES price_changes (company_id, id) ON DELETE CASCADE,
  FOREIGN KEY (company_id, subscription_id) REFERENCES subscriptions (company_id, id) ON DELETE CASCADE,
  CONSTRAINT price_change_subscriptions_waiting CHECK ((state = 'waiting') = (check_at IS NOT NULL)),
  CONSTRAINT price_change_subscriptions_scheduled CHECK ((state = 'scheduled') = (scheduled_id IS NOT NULL)),
  CONSTRAINT price_change_subscriptions_refused CHECK ((state = 'refused') = (reason IS NOT NULL))
);
CREATE INDEX price_change_subscriptions_due ON price_change_subscriptions (company_id, change_id, check_at)
  WHERE state = 'waiting';
CREATE INDEX price_change_subscriptions_by_state ON price_change_subscriptions (company_id, change_id, state, subscription_id);
-- Also for the foreign key.
CREATE INDEX price_change_subscriptions_of ON price_change_subscriptions (company_id, subscription_id);
