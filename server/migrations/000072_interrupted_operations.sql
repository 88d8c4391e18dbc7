-- expand, runs with 0.1.0
-- A part of the service stopped while it had the operation, so a charge that was not executed is not a decline; and how often that happened.
ALTER TABLE open_transactions ADD COLUMN interrupted boolean NOT NULL DEFAULT false,
  ADD COLUMN interruptions integer NOT NULL DEFAULT 0;
