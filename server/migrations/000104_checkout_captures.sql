-- expand, runs with 0.1.0

-- A checkout session and a payment link can authorize a payment that is captured later.
ALTER TABLE checkout_sessions ADD COLUMN capture text NOT NULL DEFAULT 'automatic';
ALTER TABLE checkout_sessions ADD CONSTRAINT checkout_sessions_capture_check
  CHECK (capture IN ('automatic', 'manual') AND (capture = 'automatic' OR mode = 'payment')) NOT VALID;
ALTER TABLE payment_links ADD COLUMN capture text NOT NULL DEFAULT 'automatic';
ALTER TABLE payment_links ADD CONSTRAINT payment_links_capture_check
  CHECK (capture IN ('automatic', 'manual') AND (capture = 'automatic' OR mode = 'payment')) NOT VALID;

-- The release before knows neither column, and would charge at once. So what it opens for a link is as the link says, and it
-- cannot begin a payment that is only to be authorized.
CREATE FUNCTION capture_as_link() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- While a company moves to another shard, its links may arrive later.
  NEW.capture := coalesce((SELECT l.capture FROM payment_links l
    WHERE l.company_id = NEW.company_id AND l.id = NEW.payment_link_id), NEW.capture);
  RETURN NEW;
END $$;
CREATE TRIGGER checkout_sessions_capture_as_link BEFORE INSERT ON checkout_sessions FOR EACH ROW
  WHEN (NEW.payment_link_id IS NOT NULL) EXECUTE FUNCTION capture_as_link();
CREATE FUNCTION refuse_charge_at_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM checkout_sessions s
    WHERE s.company_id = NEW.company_id AND s.id = NEW.session_id AND s.capture = 'manual') THEN
    RAISE EXCEPTION 'the payment of this session is captured later' USING ERRCODE = 'check_violation',
      CONSTRAINT = 'checkout_payments_captured_later';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER checkout_payments_captured_later BEFORE INSERT ON checkout_payments FOR EACH ROW
  WHEN (NEW.input ->> 'kind' <> 'authorization') EXECUTE FUNCTION refuse_charge_at_once();
