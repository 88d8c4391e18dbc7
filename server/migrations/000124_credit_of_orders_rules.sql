-- expand, runs with 0.1.0
ALTER TABLE orders VALIDATE CONSTRAINT orders_credit_applied;
ALTER TABLE orders VALIDATE CONSTRAINT orders_credit_refunded;
ALTER TABLE orders VALIDATE CONSTRAINT orders_sale;
