-- expand, runs with 0.1.0
-- What the customers of a company see of it: on pages, in emails and on receipts. The row is created by the first change;
-- without it, defaults apply.
CREATE TABLE company_profiles (
  company_id uuid PRIMARY KEY REFERENCES companies (id),
  -- The name of the company by default.
  display_name text,
  -- A PNG that the service made of the uploaded picture.
  logo bytea CHECK (octet_length(logo) <= 262144),
  -- New with every logo, so that its URL never shows another picture.
  logo_id uuid,
  color text CHECK (color ~ '^#[0-9a-f]{6}$'),
  support_email text,
  website text,
  address jsonb,
  tax_id text,
  -- Only the settings that differ from their defaults were ever set; others are absent.
  emails jsonb NOT NULL DEFAULT '{}',
  customer_page jsonb NOT NULL DEFAULT '{}',
  updated_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((logo IS NULL) = (logo_id IS NULL))
);

-- Live companies that exist send emails of their own, or none. An upgrade must not write to their customers.
INSERT INTO company_profiles (company_id, emails) SELECT id, '{"enabled": false}' FROM companies WHERE mode = 'live';
