-- Card numbers live in a schema of their own that only the vault's role can read. Where the connecting role may make
-- roles, the two are made here; elsewhere an operator makes them, or runs with one role and less protection.
CREATE SCHEMA vault;

CREATE TABLE vault.cards (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  mode text NOT NULL CHECK (mode IN ('sandbox', 'live')),
  key_version integer NOT NULL,
  wrapped_key bytea NOT NULL,
  sealed bytea NOT NULL,
  PRIMARY KEY (company_id, id)
);
CREATE INDEX cards_rotation ON vault.cards (mode, key_version);

CREATE TABLE payment_methods (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  customer_id uuid NOT NULL,
  card_id uuid NOT NULL,
  brand text NOT NULL,
  last4 text NOT NULL CHECK (last4 ~ '^[0-9]{4}$'),
  exp_month smallint NOT NULL CHECK (exp_month BETWEEN 1 AND 12),
  exp_year smallint NOT NULL,
  fingerprint text NOT NULL,
  billing_details jsonb,
  deleted_at timestamptz,
  PRIMARY KEY (company_id, id),
  FOREIGN KEY (company_id, customer_id) REFERENCES customers (company_id, id)
);
CREATE INDEX payment_methods_customer ON payment_methods (company_id, customer_id, id) WHERE deleted_at IS NULL;

ALTER TABLE customers ADD COLUMN default_payment_method_id uuid,
  ADD FOREIGN KEY (company_id, default_payment_method_id) REFERENCES payment_methods (company_id, id);

-- A token arrives without its company, as its hash. It is used once: whoever sets used_at has it.
CREATE TABLE card_tokens (
  token_hash bytea PRIMARY KEY,
  company_id uuid NOT NULL,
  card_id uuid NOT NULL,
  brand text NOT NULL,
  last4 text NOT NULL,
  exp_month smallint NOT NULL,
  exp_year smallint NOT NULL,
  fingerprint text NOT NULL,
  requires_billing boolean NOT NULL,
  billing_details jsonb,
  expires_at timestamptz NOT NULL,
  used_at timestamptz
);
CREATE INDEX card_tokens_expiry ON card_tokens (expires_at);

-- Cards in the vault that no payment method points at, as with files: registered before they are stored, taken back by
-- the row that names them, removed by the worker when due.
CREATE TABLE unreferenced_cards (
  company_id uuid NOT NULL,
  card_id uuid NOT NULL,
  due_at timestamptz NOT NULL,
  deleting boolean NOT NULL DEFAULT false,
  PRIMARY KEY (company_id, card_id)
);
CREATE INDEX unreferenced_cards_due ON unreferenced_cards (due_at);

DO $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'svc_api') THEN CREATE ROLE svc_api; END IF;
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'svc_vault') THEN CREATE ROLE svc_vault; END IF;
  GRANT USAGE ON SCHEMA public TO svc_api;
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO svc_api;
  ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO svc_api;
  GRANT USAGE ON SCHEMA vault TO svc_vault;
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA vault TO svc_vault;
  ALTER DEFAULT PRIVILEGES IN SCHEMA vault GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO svc_vault;
EXCEPTION
  WHEN insufficient_privilege THEN RAISE NOTICE 'roles svc_api and svc_vault are left to the operator';
  WHEN unique_violation THEN RAISE EXCEPTION 'roles are being made by another process; start again';
END $$;
