-- expand, runs with 0.1.0
ALTER TABLE open_transactions VALIDATE CONSTRAINT open_transactions_with_customer;
