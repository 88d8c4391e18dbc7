-- expand, runs with 0.1.0
ALTER TABLE customers VALIDATE CONSTRAINT customers_locale_check;
ALTER TABLE checkout_sessions VALIDATE CONSTRAINT checkout_sessions_locale_check;
