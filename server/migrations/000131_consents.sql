-- expand, runs with 0.1.0

-- What customers agreed to when they ordered on a checkout page, with the text as the page showed it. Rows are only added.
-- Orders are not referenced, as those of invoices: what deletes sample data deletes both.
CREATE TABLE consents (
  company_id uuid NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
  order_id uuid NOT NULL,
  kind text NOT NULL CONSTRAINT consents_kind CHECK (kind IN ('terms', 'renewal', 'save_card')),
  subscription_id uuid,
  text text NOT NULL CONSTRAINT consents_has_text CHECK (text <> ''),
  -- Of the terms of the company: as it names it. Of the other texts: the day since which they are so.
  version text NOT NULL CONSTRAINT consents_has_version CHECK (version <> ''),
  locale text NOT NULL,
  -- Where the terms of the company are.
  url text,
  given_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, order_id, kind),
  CONSTRAINT consents_terms_have_url CHECK ((url IS NOT NULL) = (kind = 'terms')),
  CONSTRAINT consents_renewal_of_subscription CHECK (kind <> 'renewal' OR subscription_id IS NOT NULL)
);
CREATE INDEX consents_subscription ON consents (company_id, subscription_id) WHERE subscription_id IS NOT NULL;

-- The terms of the company, which its checkout pages name.
ALTER TABLE company_profiles ADD COLUMN terms_url text;
ALTER TABLE company_profiles ADD COLUMN terms_version text;
ALTER TABLE company_profiles ADD CONSTRAINT company_profiles_terms_version
  CHECK ((terms_url IS NULL) = (terms_version IS NULL)) NOT VALID;

DO $$
BEGIN
  IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'svc_api') THEN
    REVOKE UPDATE ON consents FROM svc_api;
  END IF;
END
$$;
