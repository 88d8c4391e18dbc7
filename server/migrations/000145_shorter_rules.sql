-- expand, runs with 0.1.0

-- PostgreSQL reads the rules of a table again for each statement that writes to it. It reads a list of texts as one literal in half
-- the time of single texts.
ALTER TABLE orders DROP CONSTRAINT orders_status_check;
ALTER TABLE orders ADD CONSTRAINT orders_status_check CHECK (status = ANY ('{pending,succeeded,failed,voided,partially_refunded,refunded,refund_failed,chargeback,chargeback_accepted,chargeback_dismissed}'::text[])) NOT VALID;
ALTER TABLE orders DROP CONSTRAINT orders_sale;
ALTER TABLE orders ADD CONSTRAINT orders_sale CHECK (
  CASE WHEN status = ANY ('{pending,failed}'::text[]) THEN sale_id IS NULL
    ELSE sale_id IS NOT NULL OR total = coalesce(credit_applied, 0)
      OR (status = 'voided' AND authorized_amount IS NOT NULL AND captured_amount IS NULL) END
) NOT VALID;

ALTER TABLE transactions DROP CONSTRAINT transactions_type_check;
ALTER TABLE transactions ADD CONSTRAINT transactions_type_check CHECK (type = ANY ('{sale,refund,auth}'::text[])) NOT VALID;
ALTER TABLE transactions DROP CONSTRAINT transactions_status_check;
ALTER TABLE transactions ADD CONSTRAINT transactions_status_check
  CHECK (status = ANY ('{succeeded,failed,voided,chargeback}'::text[])) NOT VALID;

ALTER TABLE open_transactions DROP CONSTRAINT open_transactions_type_check;
ALTER TABLE open_transactions ADD CONSTRAINT open_transactions_type_check
  CHECK (type = ANY ('{sale,auth,refund,void}'::text[])) NOT VALID;
ALTER TABLE open_transactions DROP CONSTRAINT open_transactions_state_check;
ALTER TABLE open_transactions ADD CONSTRAINT open_transactions_state_check
  CHECK (state = ANY ('{sending,in_doubt,interrupted,waiting,accepted,with_customer}'::text[])) NOT VALID;
ALTER TABLE open_transactions DROP CONSTRAINT open_transactions_cause_check;
ALTER TABLE open_transactions ADD CONSTRAINT open_transactions_cause_check CHECK (
  CASE type WHEN 'sale' THEN cause = ANY ('{order,retry,first_charge,renewal,plan_change,capture}'::text[])
    WHEN 'auth' THEN cause = ANY ('{order,retry}'::text[]) ELSE cause = type END
) NOT VALID;
ALTER TABLE open_transactions DROP CONSTRAINT open_transactions_flags_check;
ALTER TABLE open_transactions ADD CONSTRAINT open_transactions_flags_check CHECK (
  in_doubt = (state = ANY ('{in_doubt,interrupted}'::text[])) AND interrupted = (state = 'interrupted')
  AND waiting = (state = 'waiting')
) NOT VALID;
ALTER TABLE open_transactions DROP CONSTRAINT open_transactions_waiting;
ALTER TABLE open_transactions ADD CONSTRAINT open_transactions_waiting
  CHECK (NOT waiting OR (type = ANY ('{sale,auth}'::text[]) AND NOT in_doubt)) NOT VALID;
ALTER TABLE open_transactions DROP CONSTRAINT open_transactions_waits_for_check;
ALTER TABLE open_transactions ADD CONSTRAINT open_transactions_waits_for_check
  CHECK (waits_for = ANY ('{service,credentials,connection,processor}'::text[])) NOT VALID;
ALTER TABLE open_transactions DROP CONSTRAINT open_transactions_with_customer;
ALTER TABLE open_transactions ADD CONSTRAINT open_transactions_with_customer CHECK (
  CASE WHEN state = 'with_customer' THEN customer_step IS NOT NULL AND customer_check_at IS NOT NULL
      AND customer_until IS NOT NULL AND type = ANY ('{sale,auth}'::text[])
      AND coalesce(cause = ANY ('{order,first_charge,plan_change,retry}'::text[]), true)
    ELSE customer_step IS NULL AND customer_check_at IS NULL AND customer_locked_until IS NULL END
) NOT VALID;

DROP TRIGGER orders_invoiced ON orders;
CREATE TRIGGER orders_invoiced AFTER UPDATE OF status ON orders FOR EACH ROW
  WHEN (old.status = ANY ('{pending,failed}'::text[]) AND new.status <> ALL ('{pending,failed,voided}'::text[]))
  EXECUTE FUNCTION invoice_payment();
DROP TRIGGER orders_invoiced_at_once ON orders;
CREATE TRIGGER orders_invoiced_at_once AFTER INSERT ON orders FOR EACH ROW
  WHEN (new.status <> ALL ('{pending,failed,voided}'::text[])) EXECUTE FUNCTION invoice_payment();
DROP TRIGGER orders_credited ON orders;
CREATE TRIGGER orders_credited AFTER UPDATE OF status ON orders FOR EACH ROW
  WHEN (new.status = 'voided' AND old.status <> ALL ('{pending,failed,voided}'::text[])) EXECUTE FUNCTION credit_void();
