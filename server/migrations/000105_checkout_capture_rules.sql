-- expand, runs with 0.1.0
ALTER TABLE checkout_sessions VALIDATE CONSTRAINT checkout_sessions_capture_check;
ALTER TABLE payment_links VALIDATE CONSTRAINT payment_links_capture_check;
