-- expand, runs with 0.1.0
-- The key may be on another server.
ALTER TABLE api_key_lookups
  DROP CONSTRAINT api_key_lookups_company_id_api_key_id_fkey,
  ADD COLUMN created_at timestamptz NOT NULL DEFAULT now();
