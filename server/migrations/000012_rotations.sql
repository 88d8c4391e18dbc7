-- A secret that is rotated again before the grace period of the one before has ended: each signs until its own end.
ALTER TABLE webhook_endpoints
  ADD COLUMN previous_secrets bytea[] NOT NULL DEFAULT '{}',
  ADD COLUMN previous_secrets_until timestamptz[] NOT NULL DEFAULT '{}';
UPDATE webhook_endpoints
SET previous_secrets = ARRAY[previous_secret], previous_secrets_until = ARRAY[previous_secret_until]
WHERE previous_secret_until > now();
ALTER TABLE webhook_endpoints DROP COLUMN previous_secret, DROP COLUMN previous_secret_until,
  ADD CHECK (cardinality(previous_secrets) = cardinality(previous_secrets_until));
