-- expand, runs with 0.1.0
-- An open operation has one state, a cause, and the subject and number from which its reference is derived.
--   sending      A process sends it, or is about to.
--   in_doubt     The answer is lost. A lookup finds the outcome.
--   interrupted  The same, but a part of the service stopped: if nothing was executed, a scheduled charge is sent again.
--   waiting      Nothing was executed and nothing is under way. It is sent when what it waits for is there.
--   accepted     The processor has accepted a refund, which has to settle.
-- The columns in_doubt, interrupted and waiting say the same to the release before. They go with the next release.
-- The subject of an operation with an idempotency key is {key} or {refund key}: the key itself is in idempotency_keys.
ALTER TABLE open_transactions
  ADD COLUMN state text NOT NULL DEFAULT 'sending',
  ADD COLUMN cause text,
  ADD COLUMN subject text[],
  ADD COLUMN number integer;

UPDATE open_transactions SET waits_for = CASE WHEN waiting THEN coalesce(waits_for, 'service') END,
  interrupted = interrupted AND in_doubt AND NOT waiting AND slot <> id, in_doubt = in_doubt AND slot <> id,
  state = CASE WHEN slot = id THEN 'accepted' WHEN waiting THEN 'waiting' WHEN in_doubt AND interrupted THEN 'interrupted'
    WHEN in_doubt THEN 'in_doubt' ELSE 'sending' END
WHERE slot = id OR waiting OR in_doubt OR interrupted OR waits_for IS NOT NULL;

ALTER TABLE open_transactions
  ADD CONSTRAINT open_transactions_state_check
    CHECK (state IN ('sending', 'in_doubt', 'interrupted', 'waiting', 'accepted')),
  ADD CONSTRAINT open_transactions_accepted_check CHECK ((state = 'accepted') = (slot = id)),
  ADD CONSTRAINT open_transactions_waits_check CHECK ((state = 'waiting') = (waits_for IS NOT NULL)),
  ADD CONSTRAINT open_transactions_flags_check CHECK (in_doubt = (state IN ('in_doubt', 'interrupted'))
    AND interrupted = (state = 'interrupted') AND waiting = (state = 'waiting')),
  ADD CONSTRAINT open_transactions_cause_check CHECK (cause IN ('order', 'retry', 'first_charge', 'renewal', 'refund', 'void')
    AND (cause IN ('refund', 'void') OR type = 'sale') AND (cause = type OR type = 'sale'));

CREATE FUNCTION operation_reference(company_id uuid, subject text[], number integer) RETURNS uuid
LANGUAGE sql IMMUTABLE AS $$
  SELECT (substr(d, 1, 12) || '8' || substr(d, 14, 3) || to_hex(('x' || substr(d, 17, 2))::bit(8)::integer & 63 | 128)
    || substr(d, 19, 14))::uuid
  FROM (SELECT encode(sha256(convert_to(array_to_string(
    ARRAY['svc reference 1', company_id::text] || subject || number::text, E'\n'), 'UTF8')), 'hex') AS d) AS hashed
$$;

-- The release before derives references in the same way, but does not record from what.
CREATE FUNCTION describe_operation(operation open_transactions) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  placed record;
  found_subject text[];
  found_number integer := 0;
BEGIN
  SELECT subscription_id, subscription_cycle, attempt_count INTO placed FROM orders
  WHERE company_id = operation.company_id AND id = operation.order_id;
  SELECT s.subject, n INTO found_subject, found_number
  FROM generate_series(0, placed.attempt_count + 50) AS n CROSS JOIN (VALUES
    ('sale', CASE WHEN placed.subscription_id IS NULL THEN ARRAY['retry', operation.order_id::text]
      ELSE ARRAY['cycle', placed.subscription_id::text, coalesce(placed.subscription_cycle, 1)::text] END),
    ('refund', ARRAY['refund', operation.order_id::text]),
    ('void', ARRAY['void', operation.order_id::text])) AS s (type, subject)
  WHERE s.type = operation.type
    AND operation_reference(operation.company_id, s.subject, n) = operation.reference
  LIMIT 1;
  UPDATE open_transactions SET
    subject = coalesce(found_subject, CASE type WHEN 'refund' THEN ARRAY['refund key'] ELSE ARRAY['key'] END),
    number = coalesce(found_number, 0),
    cause = CASE WHEN type <> 'sale' THEN type WHEN request_id IS NULL THEN 'renewal'
      WHEN found_subject IS NOT NULL THEN 'retry'
      WHEN placed.subscription_id IS NOT NULL THEN 'first_charge' ELSE 'order' END
  WHERE company_id = operation.company_id AND order_id = operation.order_id AND slot = operation.slot AND cause IS NULL;
END
$$;
SELECT describe_operation(t) FROM open_transactions t;

-- Also for operations that are adopted. At the end of the transaction, because the order is placed in the same statement.
CREATE FUNCTION describe_new_operation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM describe_operation(NEW);
  RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER open_transactions_without_cause AFTER INSERT ON open_transactions
DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.cause IS NULL) EXECUTE FUNCTION describe_new_operation();

-- One of the two releases changes the state, the other one the flags.
CREATE FUNCTION agree_on_operation_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' AND NEW.state = 'sending' OR NEW.state = OLD.state THEN
    NEW.state := CASE WHEN NEW.slot = NEW.id THEN 'accepted' WHEN NEW.waiting THEN 'waiting'
      WHEN NEW.in_doubt AND NEW.interrupted THEN 'interrupted' WHEN NEW.in_doubt THEN 'in_doubt' ELSE 'sending' END;
  END IF;
  NEW.in_doubt := NEW.state IN ('in_doubt', 'interrupted');
  NEW.interrupted := NEW.state = 'interrupted';
  NEW.waiting := NEW.state = 'waiting';
  NEW.waits_for := CASE WHEN NEW.state = 'waiting' THEN coalesce(NEW.waits_for, 'service') END;
  RETURN NEW;
END
$$;
CREATE TRIGGER open_transactions_state BEFORE UPDATE ON open_transactions
FOR EACH ROW EXECUTE FUNCTION agree_on_operation_state();
CREATE TRIGGER open_transactions_first_state BEFORE INSERT ON open_transactions
FOR EACH ROW WHEN (NEW.state <> 'sending' OR NEW.in_doubt OR NEW.waiting OR NEW.slot = NEW.id)
EXECUTE FUNCTION agree_on_operation_state();
