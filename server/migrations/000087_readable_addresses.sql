-- expand, runs with 0.1.0
-- Payment links with a readable address: /pay/tea-house/autumn.
-- On the control plane: the company that the first part leads to. A company keeps the names that it had.
CREATE TABLE company_names (
  name text NOT NULL PRIMARY KEY,
  company_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX company_names_of_company ON company_names (company_id);
-- The name that new addresses of the company have, and the second part of the address.
ALTER TABLE company_profiles ADD COLUMN link_name text;
ALTER TABLE payment_links ADD COLUMN slug text;
