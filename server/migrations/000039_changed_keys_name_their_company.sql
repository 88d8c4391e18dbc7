-- expand, runs with 0.1.0
-- Processes forget what they know of this company only.
CREATE OR REPLACE TRIGGER api_keys_changed
  AFTER DELETE OR UPDATE OF permissions, allowed_addresses, expires_at, revoked_at, secret_hash ON api_keys
  FOR EACH ROW EXECUTE FUNCTION notify_access_changed_of('company_id');
