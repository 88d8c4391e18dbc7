-- expand, runs with 0.1.0
CREATE UNIQUE INDEX CONCURRENTLY orders_change ON orders (company_id, subscription_id, subscription_change)
  WHERE subscription_change IS NOT NULL;
CREATE UNIQUE INDEX CONCURRENTLY orders_first_without_change ON orders (company_id, subscription_id)
  WHERE subscription_id IS NOT NULL AND (subscription_cycle IS NULL OR subscription_cycle = 1) AND subscription_change IS NULL;
