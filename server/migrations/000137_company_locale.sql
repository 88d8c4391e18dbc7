-- expand, runs with 0.1.0

-- The language of the pages, emails and documents of a company where nothing else decides. Null: English.
ALTER TABLE companies ADD COLUMN locale text;
ALTER TABLE companies ADD CONSTRAINT companies_locale_check CHECK (locale ~ '^[a-z]{2}(-([A-Z]{2}|[0-9]{3}))?$') NOT VALID;
-- What a payment link asks for, before the browser of its visitors.
ALTER TABLE payment_links ADD COLUMN locale text;
ALTER TABLE payment_links ADD CONSTRAINT payment_links_locale_check
  CHECK (locale ~ '^[a-z]{2}(-([A-Z]{2}|[0-9]{3}))?$') NOT VALID;
