-- expand, runs with 0.1.0

-- The charge of a change of plan can wait for the customer at the bank, too.
ALTER TABLE open_transactions DROP CONSTRAINT open_transactions_with_customer;
ALTER TABLE open_transactions ADD CONSTRAINT open_transactions_with_customer CHECK (
  (state = 'with_customer') = (customer_step IS NOT NULL) AND (state = 'with_customer') = (customer_check_at IS NOT NULL)
  AND (customer_locked_until IS NULL OR state = 'with_customer')
  AND (state <> 'with_customer' OR (customer_until IS NOT NULL AND type IN ('sale', 'auth')
    AND cause IN ('order', 'first_charge', 'plan_change', 'retry')))) NOT VALID;
