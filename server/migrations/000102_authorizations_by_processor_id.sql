-- expand, runs with 0.1.0
-- Notices of processors name an authorization by the id that the processor gave it.
CREATE INDEX CONCURRENTLY transactions_authorization_id
  ON transactions (company_id, (processor_response ->> 'transaction_id'))
  WHERE connection_id IS NOT NULL AND type = 'auth';
