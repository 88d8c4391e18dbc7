-- expand, runs with 0.1.0

-- The bank of the customer wants to confirm a charge, and the customer was led there.
ALTER TABLE open_transactions
  -- Where the customer is led, and what the processor needs afterwards; sealed.
  ADD COLUMN customer_step bytea,
  -- The end of the time for it, by the clock of the company. It stays when the time is over: then it says why the charge failed.
  ADD COLUMN customer_until timestamptz,
  -- When the processor is asked whether the bank has decided.
  ADD COLUMN customer_check_at timestamptz,
  -- A process asks it now.
  ADD COLUMN customer_locked_until timestamptz;
ALTER TABLE open_transactions DROP CONSTRAINT open_transactions_state_check;
ALTER TABLE open_transactions ADD CONSTRAINT open_transactions_state_check
  CHECK (state IN ('sending', 'in_doubt', 'interrupted', 'waiting', 'accepted', 'with_customer')) NOT VALID;
ALTER TABLE open_transactions ADD CONSTRAINT open_transactions_with_customer CHECK (
  (state = 'with_customer') = (customer_step IS NOT NULL) AND (state = 'with_customer') = (customer_check_at IS NOT NULL)
  AND (customer_locked_until IS NULL OR state = 'with_customer')
  AND (state <> 'with_customer' OR (customer_until IS NOT NULL AND type IN ('sale', 'auth')
    AND cause IN ('order', 'first_charge', 'retry')))) NOT VALID;
CREATE INDEX open_transactions_with_customer ON open_transactions (customer_check_at) WHERE customer_check_at IS NOT NULL;

-- The release before writes the flags and does not know this state.
CREATE OR REPLACE FUNCTION agree_on_operation_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' AND NEW.state = 'sending' OR NEW.state = OLD.state THEN
    NEW.state := CASE WHEN NEW.slot = NEW.id THEN 'accepted' WHEN NEW.waiting THEN 'waiting'
      WHEN NEW.in_doubt AND NEW.interrupted THEN 'interrupted' WHEN NEW.in_doubt THEN 'in_doubt'
      WHEN NEW.customer_step IS NOT NULL THEN 'with_customer' ELSE 'sending' END;
  END IF;
  NEW.in_doubt := NEW.state IN ('in_doubt', 'interrupted');
  NEW.interrupted := NEW.state = 'interrupted';
  NEW.waiting := NEW.state = 'waiting';
  NEW.waits_for := CASE WHEN NEW.state = 'waiting' THEN coalesce(NEW.waits_for, 'service') END;
  IF NEW.state <> 'with_customer' THEN
    NEW.customer_step := NULL;
    NEW.customer_check_at := NULL;
    NEW.customer_locked_until := NULL;
  END IF;
  RETURN NEW;
END
$$;

-- Until when the customer of a payment can be at the bank; null unless the payment waits for that.
ALTER TABLE checkout_payments ADD COLUMN customer_until timestamptz;

-- Whether cards of the sandbox are authenticated by the bank of the sandbox.
ALTER TABLE companies ADD COLUMN authenticates boolean NOT NULL DEFAULT false;
ALTER TABLE companies ADD CONSTRAINT companies_authenticates_in_sandbox
  CHECK (NOT authenticates OR mode = 'sandbox') NOT VALID;

-- The books of the bank of the sandbox.
CREATE TABLE vault.sandbox_challenges (
  company_id uuid NOT NULL,
  reference uuid NOT NULL,
  token text NOT NULL,
  card_id uuid NOT NULL,
  behaviour text NOT NULL,
  state text NOT NULL CHECK (state IN ('open', 'passed', 'failed', 'ended')),
  amount bigint NOT NULL,
  currency text NOT NULL,
  last4 text NOT NULL,
  asked_at timestamptz NOT NULL DEFAULT now(),
  answered_at timestamptz,
  PRIMARY KEY (company_id, reference),
  CONSTRAINT sandbox_challenges_answered CHECK ((state = 'open') = (answered_at IS NULL))
);
CREATE UNIQUE INDEX sandbox_challenges_token ON vault.sandbox_challenges (company_id, token);
CREATE INDEX sandbox_challenges_card ON vault.sandbox_challenges (company_id, card_id) WHERE state = 'passed';
