-- expand, runs with 0.1.0
CREATE INDEX CONCURRENTLY payment_methods_expiry ON payment_methods (company_id, exp_year, exp_month) WHERE deleted_at IS NULL;
