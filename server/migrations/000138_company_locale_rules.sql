-- expand, runs with 0.1.0
ALTER TABLE companies VALIDATE CONSTRAINT companies_locale_check;
ALTER TABLE payment_links VALIDATE CONSTRAINT payment_links_locale_check;
