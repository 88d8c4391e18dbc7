-- expand, runs with 0.1.0
ALTER TABLE orders VALIDATE CONSTRAINT orders_of_change;
ALTER TABLE open_transactions VALIDATE CONSTRAINT open_transactions_cause_check;
ALTER TABLE subscriptions VALIDATE CONSTRAINT subscriptions_quantity;
ALTER TABLE subscriptions VALIDATE CONSTRAINT subscriptions_change_pending;
