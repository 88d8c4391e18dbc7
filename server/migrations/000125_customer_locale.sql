-- expand, runs with 0.1.0

-- The language of a customer, with a country if it is known: de-AT. Null until a customer has used a page or the merchant has set it.
ALTER TABLE customers ADD COLUMN locale text;
ALTER TABLE customers ADD CONSTRAINT customers_locale_check CHECK (locale ~ '^[a-z]{2}(-([A-Z]{2}|[0-9]{3}))?$') NOT VALID;
-- What a checkout session asks for, before the browser of the customer.
ALTER TABLE checkout_sessions ADD COLUMN locale text;
ALTER TABLE checkout_sessions ADD CONSTRAINT checkout_sessions_locale_check
  CHECK (locale ~ '^[a-z]{2}(-([A-Z]{2}|[0-9]{3}))?$') NOT VALID;
