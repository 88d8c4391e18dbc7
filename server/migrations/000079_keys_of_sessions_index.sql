-- expand, runs with 0.1.0
CREATE INDEX CONCURRENTLY api_key_lookups_session_id ON api_key_lookups (session_id) WHERE session_id IS NOT NULL;
