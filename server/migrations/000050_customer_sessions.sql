-- expand, runs with 0.1.0
-- A link to the page of one customer. Only the hash of its token is stored. There is no foreign key to the customer, as
-- a link does not keep a customer from being deleted.
CREATE TABLE customer_sessions (
  company_id uuid NOT NULL REFERENCES companies (id),
  id uuid NOT NULL,
  token_hash bytea NOT NULL,
  customer_id uuid NOT NULL,
  return_url text,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, id),
  UNIQUE (company_id, token_hash)
);
CREATE INDEX customer_sessions_expired ON customer_sessions (expires_at);
