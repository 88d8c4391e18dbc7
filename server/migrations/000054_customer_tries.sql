-- expand, runs with 0.1.0
-- How often the customer tried to pay the order after a decline. Without a bound, the page would test cards.
ALTER TABLE orders ADD COLUMN customer_tries smallint NOT NULL DEFAULT 0;
