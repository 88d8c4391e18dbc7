-- expand, runs with 0.1.0
CREATE INDEX CONCURRENTLY missing_operations_subscription ON missing_operations (company_id, subscription_id)
  WHERE subscription_id IS NOT NULL;
