-- expand, runs with 0.1.0
ALTER TABLE checkout_sessions VALIDATE CONSTRAINT checkout_sessions_mode_check;
ALTER TABLE checkout_sessions VALIDATE CONSTRAINT checkout_sessions_completed;
ALTER TABLE checkout_sessions VALIDATE CONSTRAINT checkout_sessions_setup_has_customer;
