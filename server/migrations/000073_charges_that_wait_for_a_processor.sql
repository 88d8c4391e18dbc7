-- expand, runs with 0.1.0
-- After a restore, a charge may wait until each processor has said whether it executed the charge before.
ALTER TABLE open_transactions DROP CONSTRAINT open_transactions_waits_for_check,
  ADD CONSTRAINT open_transactions_waits_for_check CHECK (waits_for IN ('service', 'credentials', 'connection', 'processor')) NOT VALID;
ALTER TABLE open_transactions VALIDATE CONSTRAINT open_transactions_waits_for_check;
