-- Counts how often an operation was sent, under another reference or with another validity. Whoever records an outcome
-- names the sending that it is the outcome of.
ALTER TABLE open_transactions ADD COLUMN sending integer NOT NULL DEFAULT 1;
