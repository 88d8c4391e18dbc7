-- expand, runs with 0.1.0
CREATE INDEX CONCURRENTLY payment_methods_last4 ON payment_methods (company_id, last4, customer_id);
