-- expand, runs with 0.1.0
ALTER TABLE orders VALIDATE CONSTRAINT orders_status_check;
ALTER TABLE orders VALIDATE CONSTRAINT orders_sale;
ALTER TABLE transactions VALIDATE CONSTRAINT transactions_type_check;
ALTER TABLE transactions VALIDATE CONSTRAINT transactions_status_check;
ALTER TABLE open_transactions VALIDATE CONSTRAINT open_transactions_type_check;
ALTER TABLE open_transactions VALIDATE CONSTRAINT open_transactions_state_check;
ALTER TABLE open_transactions VALIDATE CONSTRAINT open_transactions_cause_check;
ALTER TABLE open_transactions VALIDATE CONSTRAINT open_transactions_flags_check;
ALTER TABLE open_transactions VALIDATE CONSTRAINT open_transactions_waiting;
ALTER TABLE open_transactions VALIDATE CONSTRAINT open_transactions_waits_for_check;
ALTER TABLE open_transactions VALIDATE CONSTRAINT open_transactions_with_customer;
