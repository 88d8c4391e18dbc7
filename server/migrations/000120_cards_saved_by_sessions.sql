-- expand, runs with 0.1.0

-- A session of the mode setup saves a card of its customer, without a charge.
ALTER TABLE checkout_sessions ADD COLUMN payment_method_id uuid;
ALTER TABLE checkout_sessions DROP CONSTRAINT checkout_sessions_mode_check;
ALTER TABLE checkout_sessions ADD CONSTRAINT checkout_sessions_mode_check
  CHECK (mode IN ('payment', 'subscription', 'setup')) NOT VALID;
ALTER TABLE checkout_sessions DROP CONSTRAINT checkout_sessions_check2;
ALTER TABLE checkout_sessions ADD CONSTRAINT checkout_sessions_completed CHECK (status <> 'completed'
  OR (mode = 'setup') = (order_id IS NULL) AND (mode = 'setup') = (payment_method_id IS NOT NULL)) NOT VALID;
ALTER TABLE checkout_sessions ADD CONSTRAINT checkout_sessions_setup_has_customer
  CHECK (mode <> 'setup' OR customer_id IS NOT NULL) NOT VALID;

-- The session that is completed when the card is saved.
ALTER TABLE card_setups ADD COLUMN session_id uuid;
