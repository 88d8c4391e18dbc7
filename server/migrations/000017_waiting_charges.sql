-- A sale whose intent is recorded and that was certainly not sent, because the vault could not be reached. It is
-- sent later under the same reference.
ALTER TABLE open_transactions ADD COLUMN waiting boolean NOT NULL DEFAULT false;
ALTER TABLE open_transactions ADD CONSTRAINT open_transactions_waiting CHECK (NOT waiting OR (type = 'sale' AND NOT in_doubt));
