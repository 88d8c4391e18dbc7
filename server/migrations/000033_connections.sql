-- expand, runs with 0.1.0
-- The processors that a live company is or was connected to. The vault has their credentials.
CREATE TABLE processor_connections (
  company_id uuid NOT NULL REFERENCES companies (id),
  id uuid NOT NULL,
  kind text NOT NULL CHECK (kind IN ('acquirer', 'stripe', 'nmi', 'adyen')),
  name text NOT NULL,
  -- The order in which connections are tried, among those that are connected.
  position integer NOT NULL,
  -- Which charges it takes: {currencies, brands, share}; an absent rule excludes nothing.
  rules jsonb NOT NULL DEFAULT '{}',
  -- After this time a request that was sent is no longer executed.
  request_life_ms integer NOT NULL CHECK (request_life_ms > 0),
  -- Whether cards that arrive with a publishable key are verified at this connection.
  verifies_cards boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- New charges no longer use it. Refunds, lookups and disputes of its charges do.
  disconnected_at timestamptz,
  -- The credentials were removed: nothing can be sent any more.
  removed_at timestamptz,
  notice_seen_at timestamptz,
  -- Of a processor that is asked for notices, because it sends none.
  polled_at timestamptz,
  poll_cursor text,
  PRIMARY KEY (company_id, id),
  CHECK (removed_at IS NULL OR disconnected_at IS NOT NULL)
);
CREATE INDEX processor_connections_id ON processor_connections (id);
-- Two connections at the same place would make the order depend on chance.
CREATE UNIQUE INDEX processor_connections_position ON processor_connections (company_id, position)
  WHERE disconnected_at IS NULL;

CREATE TABLE vault.connections (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL,
  timeout_ms integer NOT NULL CHECK (timeout_ms > 0),
  -- The URL of a connection of version 0.1.0, whose sealed value is only the secret.
  first_url text,
  key_version integer NOT NULL,
  wrapped_key bytea NOT NULL,
  sealed bytea NOT NULL,
  PRIMARY KEY (company_id, id)
);

WITH connected AS (
  SELECT p.*, gen_random_uuid() AS id, c.processor FROM vault.processor_connections p JOIN companies c ON c.id = p.company_id
), copied AS (
  INSERT INTO vault.connections (company_id, id, kind, timeout_ms, first_url, key_version, wrapped_key, sealed)
  SELECT company_id, id, 'acquirer', timeout_ms, url, key_version, wrapped_key, sealed FROM connected
)
INSERT INTO processor_connections (company_id, id, kind, name, position, request_life_ms, disconnected_at)
SELECT company_id, id, 'acquirer', 'Acquirer', 1, request_life_ms, CASE WHEN processor IS NULL THEN now() END
FROM connected;

-- The first connection, which new operations are recorded with unless the rules choose another one.
ALTER TABLE companies ADD COLUMN connection_id uuid;
UPDATE companies c SET connection_id = p.id FROM processor_connections p
WHERE p.company_id = c.id AND p.disconnected_at IS NULL;

-- What a processor calls the charge that was prepared under our reference. Without a handle, the charge was given up before
-- it was prepared, and must never be sent.
CREATE TABLE vault.prepared_charges (
  company_id uuid NOT NULL,
  reference uuid NOT NULL,
  connection_id uuid NOT NULL,
  handle text,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (company_id, reference, connection_id)
);

ALTER TABLE vault.cards
  -- The id of the first charge or verification at each connection: {connection: id}. Some processors use ids of their own.
  ADD COLUMN network_transaction_ids jsonb NOT NULL DEFAULT '{}',
  -- What the processor answered about the CVC and the address when the card was captured.
  ADD COLUMN verification json;

-- Null in the sandbox, and for what version 0.1.0 sent: that went to the first connection of the company.
ALTER TABLE open_transactions ADD COLUMN connection_id uuid;
ALTER TABLE transactions
  ADD COLUMN connection_id uuid,
  ADD COLUMN settled_at timestamptz;

CREATE OR REPLACE VIEW all_transactions AS
  SELECT company_id, id, order_id, customer_id, payment_method_id, type, status, amount, currency, card_brand,
    card_last4, processor_response, failure_code, failure_reason, updated_at, coalesce(reference, id) AS reference,
    connection_id, settled_at
  FROM transactions
  UNION ALL
  SELECT company_id, id, order_id, customer_id, payment_method_id, type, 'in_progress', amount, currency, card_brand,
    card_last4, processor_response, NULL, NULL, updated_at, coalesce(reference, id), connection_id, NULL
  FROM open_transactions WHERE type <> 'void';

-- What processors reported later. Each is applied once; the same notice arrives any number of times.
CREATE TABLE processor_notices (
  company_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  id text NOT NULL,
  type text NOT NULL,
  about json NOT NULL,
  happened_at timestamptz NOT NULL,
  received_at timestamptz NOT NULL DEFAULT now(),
  -- Null while it waits, for example for the operation that it is about.
  applied_at timestamptz,
  next_try_at timestamptz NOT NULL DEFAULT now(),
  tries integer NOT NULL DEFAULT 0,
  -- What became of it, in words.
  result text,
  PRIMARY KEY (company_id, connection_id, id),
  FOREIGN KEY (company_id, connection_id) REFERENCES processor_connections (company_id, id)
);
CREATE INDEX processor_notices_due ON processor_notices (next_try_at) WHERE applied_at IS NULL;
CREATE INDEX processor_notices_applied ON processor_notices (applied_at) WHERE applied_at IS NOT NULL;

-- A cardholder disputes a charge.
CREATE TABLE disputes (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  order_id uuid NOT NULL,
  transaction_id uuid NOT NULL,
  -- Null in the sandbox.
  connection_id uuid,
  -- The processor's id of it.
  processor_id text NOT NULL,
  state text NOT NULL CHECK (state IN ('inquiry', 'inquiry_closed', 'needs_response', 'under_review', 'won', 'lost', 'accepted')),
  amount bigint NOT NULL CHECK (amount > 0),
  currency text NOT NULL,
  reason text NOT NULL,
  network_reason_code text,
  evidence_due_at timestamptz,
  -- The draft, and after the submission what was submitted.
  evidence json NOT NULL DEFAULT '{}',
  submitted_at timestamptz,
  -- The time of the newest notice, by the processor's clock: an older one changes nothing.
  state_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, id),
  FOREIGN KEY (company_id, order_id) REFERENCES orders (company_id, id)
);
CREATE UNIQUE INDEX disputes_processor_id ON disputes (company_id, processor_id, coalesce(connection_id, company_id));
CREATE INDEX disputes_order ON disputes (company_id, order_id);
CREATE INDEX disputes_due ON disputes (evidence_due_at) WHERE state = 'needs_response';
CREATE INDEX disputes_due_of_company ON disputes (company_id, evidence_due_at) WHERE state = 'needs_response';

-- Files of evidence, in the draft and after the submission.
CREATE TABLE dispute_files (
  company_id uuid NOT NULL,
  dispute_id uuid NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL,
  name text NOT NULL,
  content_type text NOT NULL CHECK (content_type IN ('application/pdf', 'image/jpeg', 'image/png')),
  content bytea NOT NULL CHECK (octet_length(content) <= 5242880),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (company_id, dispute_id, id),
  FOREIGN KEY (company_id, dispute_id) REFERENCES disputes (company_id, id) ON DELETE CASCADE
);

-- Several kinds of processors: the connections say which.
ALTER TABLE companies DROP CONSTRAINT companies_processor_check;
ALTER TABLE companies ADD CONSTRAINT companies_processor_check CHECK (processor IN ('sandbox', 'acquirer', 'connected'));
UPDATE companies SET processor = 'connected' WHERE processor = 'acquirer';
