-- A link for a new password is good for its hour, also when another one was asked for since: strangers who ask again and again
-- must not end the link that its owner is about to open.
CREATE TABLE password_resets (
  hash bytea PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  expires_at timestamptz NOT NULL
);
CREATE INDEX password_resets_user ON password_resets (user_id, expires_at);
CREATE INDEX password_resets_expiry ON password_resets (expires_at);

INSERT INTO password_resets (hash, user_id, expires_at)
SELECT reset_hash, id, reset_expires_at FROM users WHERE reset_hash IS NOT NULL AND reset_expires_at > now();
ALTER TABLE users DROP COLUMN reset_hash, DROP COLUMN reset_expires_at;
