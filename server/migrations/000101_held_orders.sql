-- expand, runs with 0.1.0
CREATE INDEX CONCURRENTLY orders_held ON orders (company_id, capture_before) WHERE capture_before IS NOT NULL;
