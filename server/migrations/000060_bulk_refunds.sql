-- expand, runs with 0.1.0
-- Refunds of many orders that a member confirmed at once. The worker executes them one by one.
CREATE TABLE bulk_refunds (
  company_id uuid NOT NULL REFERENCES companies (id),
  id uuid NOT NULL,
  member_id uuid NOT NULL,
  request_id text NOT NULL,
  PRIMARY KEY (company_id, id)
);

CREATE TABLE bulk_refund_orders (
  company_id uuid NOT NULL,
  bulk_id uuid NOT NULL,
  order_id uuid NOT NULL,
  -- As confirmed: the remaining balance at that time.
  amount bigint NOT NULL CHECK (amount > 0),
  currency text NOT NULL,
  state text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'refused')),
  -- The transaction of a refund that was sent. It has the result.
  refund_id uuid,
  reason text,
  attempts integer NOT NULL DEFAULT 0,
  check_at timestamptz DEFAULT now(),
  PRIMARY KEY (company_id, bulk_id, order_id),
  FOREIGN KEY (company_id, bulk_id) REFERENCES bulk_refunds (company_id, id),
  FOREIGN KEY (company_id, order_id) REFERENCES orders (company_id, id),
  CHECK ((state = 'waiting') = (check_at IS NOT NULL)),
  CHECK ((state = 'refused') = (reason IS NOT NULL)),
  CHECK ((state = 'sent') = (refund_id IS NOT NULL))
);
-- Two bulk refunds never wait for the same order.
CREATE UNIQUE INDEX bulk_refund_orders_waiting ON bulk_refund_orders (company_id, order_id) WHERE state = 'waiting';
CREATE INDEX bulk_refund_orders_due ON bulk_refund_orders (company_id, check_at) WHERE state = 'waiting';

-- Lists as CSV, which the worker writes in pieces. They are deleted after a day.
CREATE TABLE exports (
  company_id uuid NOT NULL REFERENCES companies (id),
  id uuid NOT NULL,
  member_id uuid NOT NULL,
  list text NOT NULL,
  -- The filters and the order of the list, as in its address.
  query jsonb NOT NULL,
  -- The permissions that its rows and columns need, to write it and to read it.
  permissions text[] NOT NULL,
  state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'ready', 'failed')),
  reason text,
  rows integer NOT NULL DEFAULT 0,
  chunks integer NOT NULL DEFAULT 0,
  -- The last row that was written.
  after_id uuid,
  leased_until timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL DEFAULT now() + interval '1 day',
  PRIMARY KEY (company_id, id),
  CHECK ((state = 'failed') = (reason IS NOT NULL))
);
CREATE INDEX exports_running ON exports (leased_until) WHERE state = 'running';
CREATE INDEX exports_expiry ON exports (expires_at);
-- Failed exports whose pieces are still to be deleted.
CREATE INDEX exports_failed ON exports (company_id, id) WHERE state = 'failed' AND chunks > 0;

CREATE TABLE export_chunks (
  company_id uuid NOT NULL,
  export_id uuid NOT NULL,
  number integer NOT NULL,
  content text NOT NULL,
  PRIMARY KEY (company_id, export_id, number),
  FOREIGN KEY (company_id, export_id) REFERENCES exports (company_id, id) ON DELETE CASCADE
);
