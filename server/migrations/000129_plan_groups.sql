-- expand, runs with 0.1.0

-- Plans between which customers may change on their page, and the rules for it.
CREATE TABLE plan_groups (
  company_id uuid NOT NULL REFERENCES companies (id),
  id uuid NOT NULL,
  name text NOT NULL,
  -- To a plan that costs more, and to one that costs less.
  upgrade text NOT NULL CONSTRAINT plan_groups_upgrade CHECK (upgrade IN ('now', 'renewal', 'off')),
  downgrade text NOT NULL CONSTRAINT plan_groups_downgrade CHECK (downgrade IN ('now', 'renewal', 'off')),
  proration text NOT NULL CONSTRAINT plan_groups_proration CHECK (proration IN ('difference', 'restart', 'none')),
  -- Customers may change after this number of paid cycles.
  after_cycles integer NOT NULL CONSTRAINT plan_groups_after_cycles CHECK (after_cycles >= 0),
  -- The most seats that a customer can choose; null if customers cannot choose seats.
  seats_max integer CONSTRAINT plan_groups_seats_max CHECK (seats_max > 0),
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, id)
);

-- A plan is in one group at most.
CREATE TABLE plan_group_plans (
  company_id uuid NOT NULL,
  plan_id uuid NOT NULL,
  group_id uuid NOT NULL,
  position integer NOT NULL,
  PRIMARY KEY (company_id, plan_id),
  FOREIGN KEY (company_id, group_id) REFERENCES plan_groups (company_id, id) ON DELETE CASCADE,
  FOREIGN KEY (company_id, plan_id) REFERENCES plans (company_id, id) ON DELETE CASCADE
);
CREATE INDEX plan_group_plans_of_group ON plan_group_plans (company_id, group_id, position);
