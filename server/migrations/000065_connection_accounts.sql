-- expand, runs with 0.1.0
-- The account at the processor that the credentials of a connection belong to; null if it is not known. New credentials must be of the same one.
ALTER TABLE processor_connections ADD COLUMN account_id text;
