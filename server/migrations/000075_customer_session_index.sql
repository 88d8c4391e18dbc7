-- expand, runs with 0.1.0
CREATE INDEX CONCURRENTLY customer_sessions_of_customer ON customer_sessions (company_id, customer_id);
