-- expand, runs with 0.1.0
-- The process that sent the operation died before it recorded an answer.
ALTER TABLE open_transactions ADD COLUMN orphaned boolean NOT NULL DEFAULT false;
