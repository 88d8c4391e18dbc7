-- expand, runs with 0.1.0
-- Lists of orders are read in the order of their ids.
CREATE INDEX CONCURRENTLY orders_held_by_id ON orders (company_id, id) WHERE capture_before IS NOT NULL;
