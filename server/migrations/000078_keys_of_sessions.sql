-- expand, runs with 0.1.0
-- A key that a member got without a password ends with the session in which it was made, however the session ends: by sign-out, by
-- another member, by expiry, or because a new password replaced its token.
ALTER TABLE api_key_lookups
  ADD COLUMN of_session boolean NOT NULL DEFAULT false,
  ADD COLUMN session_id uuid,
  ADD CONSTRAINT api_key_lookups_session CHECK (of_session OR session_id IS NULL) NOT VALID,
  ADD CONSTRAINT api_key_lookups_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions (id) ON DELETE SET NULL NOT VALID;
ALTER TABLE api_key_lookups VALIDATE CONSTRAINT api_key_lookups_session;
ALTER TABLE api_key_lookups VALIDATE CONSTRAINT api_key_lookups_session_id_fkey;

CREATE FUNCTION end_keys_of_session() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE api_key_lookups SET session_id = NULL WHERE session_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER sessions_token_replaced AFTER UPDATE OF token_hash ON sessions FOR EACH ROW
  WHEN (OLD.token_hash <> NEW.token_hash) EXECUTE FUNCTION end_keys_of_session();

-- Processes forget what they know of the keys of the company.
CREATE TRIGGER api_key_lookups_ended AFTER UPDATE OF session_id ON api_key_lookups FOR EACH ROW
  EXECUTE FUNCTION notify_access_changed_of('company_id');
