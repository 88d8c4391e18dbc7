-- expand, runs with 0.1.0

-- What a merchant owes its customers, in each currency. The row is locked by what changes it, so two changes at once never spend the same credit.
CREATE TABLE credit_balances (
  company_id uuid NOT NULL,
  customer_id uuid NOT NULL,
  currency text NOT NULL,
  balance bigint NOT NULL CONSTRAINT credit_balances_not_negative CHECK (balance >= 0),
  -- How many entries there are.
  entries integer NOT NULL CONSTRAINT credit_balances_has_entries CHECK (entries > 0),
  PRIMARY KEY (company_id, customer_id, currency),
  FOREIGN KEY (company_id, customer_id) REFERENCES customers (company_id, id)
);

-- Each change of a balance. Rows are only added.
CREATE TABLE credit_entries (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  customer_id uuid NOT NULL,
  currency text NOT NULL,
  number integer NOT NULL CONSTRAINT credit_entries_numbered CHECK (number > 0),
  type text NOT NULL CONSTRAINT credit_entries_type CHECK (type IN ('grant', 'take_back', 'plan_change', 'order', 'order_failed', 'order_voided',
    'refund', 'customer_deleted')),
  amount bigint NOT NULL,
  -- After this entry.
  balance bigint NOT NULL CONSTRAINT credit_entries_not_negative CHECK (balance >= 0),
  reason text,
  order_id uuid,
  subscription_id uuid,
  -- Who granted it or took it back.
  actor_name text,
  -- Of a refund by an idempotency key: derived from the key, so that it is found again.
  reference uuid,
  PRIMARY KEY (company_id, id),
  CONSTRAINT credit_entries_once UNIQUE (company_id, customer_id, currency, number),
  CONSTRAINT credit_entries_direction CHECK (amount <> 0
    AND (amount > 0) = (type IN ('grant', 'plan_change', 'order_failed', 'order_voided', 'refund'))),
  CONSTRAINT credit_entries_adds_up CHECK (number > 1 OR balance = amount),
  CONSTRAINT credit_entries_has_reason CHECK ((reason IS NOT NULL) = (type IN ('grant', 'take_back'))),
  CONSTRAINT credit_entries_of_order CHECK ((order_id IS NOT NULL) = (type IN ('order', 'order_failed', 'order_voided', 'refund'))),
  FOREIGN KEY (company_id, customer_id, currency) REFERENCES credit_balances (company_id, customer_id, currency)
);
CREATE INDEX credit_entries_order ON credit_entries (company_id, order_id) WHERE order_id IS NOT NULL;
CREATE INDEX credit_entries_customer ON credit_entries (company_id, customer_id, id);

DO $$
BEGIN
  IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'svc_api') THEN
    REVOKE UPDATE ON credit_entries FROM svc_api;
  END IF;
END
$$;

-- The built-in roles of older companies get what new companies have. Keys do not get it.
UPDATE roles SET permissions = permissions || '{credit:read}'
WHERE NOT custom AND name IN ('Owner', 'Admin', 'Developer', 'Finance', 'Support', 'Viewer') AND NOT 'credit:read' = ANY(permissions);
UPDATE roles SET permissions = permissions || '{credit:write}'
WHERE NOT custom AND name IN ('Owner', 'Admin', 'Developer', 'Finance', 'Support') AND NOT 'credit:write' = ANY(permissions);
