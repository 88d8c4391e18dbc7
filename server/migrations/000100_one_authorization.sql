-- expand, runs with 0.1.0
CREATE UNIQUE INDEX CONCURRENTLY transactions_one_authorization ON transactions (company_id, order_id)
  WHERE type = 'auth' AND status <> 'failed';
