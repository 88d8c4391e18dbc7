-- expand, runs with 0.1.0
-- Finds the charge of a notice by the processor's own id.
CREATE INDEX CONCURRENTLY transactions_processor_id
  ON transactions (company_id, (processor_response->>'transaction_id'))
  WHERE connection_id IS NOT NULL AND type = 'sale';
