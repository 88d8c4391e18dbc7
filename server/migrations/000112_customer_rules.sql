-- expand, runs with 0.1.0
ALTER TABLE open_transactions VALIDATE CONSTRAINT open_transactions_state_check;
ALTER TABLE open_transactions VALIDATE CONSTRAINT open_transactions_with_customer;
ALTER TABLE companies VALIDATE CONSTRAINT companies_authenticates_in_sandbox;
