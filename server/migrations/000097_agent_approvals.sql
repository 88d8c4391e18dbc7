-- expand, runs with 0.1.0

-- Live changes that agents ask for. A person approves each of them: in the dashboard, or in the program of the agent.
CREATE TABLE agent_approvals (
  company_id uuid NOT NULL,
  -- Also the idempotency key of the operation.
  id uuid NOT NULL,
  key_id uuid NOT NULL,
  key_name text NOT NULL,
  tool text NOT NULL CHECK (tool IN ('refund_order', 'retry_order', 'cancel_subscription')),
  object_id uuid NOT NULL,
  -- Hash of the arguments of the call. Another call cannot use the approval.
  arguments_hash text NOT NULL,
  -- What the person reads, word for word.
  question text NOT NULL,
  amount bigint,
  currency text,
  -- The call of the API: method, path and body.
  request jsonb NOT NULL,
  asked_in text NOT NULL CHECK (asked_in IN ('client', 'dashboard')),
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'approved', 'refused', 'used', 'expired')),
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  decided_at timestamptz,
  decided_by uuid,
  decided_by_name text,
  used_at timestamptz,
  -- When the result of the operation was known.
  finished_at timestamptz,
  PRIMARY KEY (company_id, id),
  CHECK ((amount IS NULL) = (currency IS NULL)),
  CHECK (state NOT IN ('approved', 'refused', 'used') OR decided_at IS NOT NULL),
  CHECK ((state = 'used') = (used_at IS NOT NULL)),
  CHECK (finished_at IS NULL OR used_at IS NOT NULL),
  FOREIGN KEY (company_id, key_id) REFERENCES api_keys (company_id, id)
);
-- One question about an object at a time.
CREATE UNIQUE INDEX agent_approvals_open ON agent_approvals (company_id, tool, object_id)
  WHERE state IN ('waiting', 'approved');
CREATE INDEX agent_approvals_of_key ON agent_approvals (company_id, key_id, created_at);
CREATE INDEX agent_approvals_old ON agent_approvals (created_at);

-- The roles that have every permission of keys have the new one too. Keys do not get it.
UPDATE roles SET permissions = array_append(permissions, 'agents:write')
WHERE NOT custom AND name IN ('Owner', 'Admin', 'Developer') AND NOT 'agents:write' = ANY (permissions);
