-- Attempts to sign in that failed, by a keyed hash of the address they were for, whether there is an account or not. Rows are
-- deleted when their time is over.
CREATE TABLE login_attempts (
  key bytea PRIMARY KEY,
  failures integer NOT NULL CHECK (failures > 0),
  expires_at timestamptz NOT NULL
);
CREATE INDEX login_attempts_expiry ON login_attempts (expires_at);

ALTER TABLE users DROP COLUMN failed_attempts, DROP COLUMN locked_until;
