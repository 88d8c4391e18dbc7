-- expand, runs with 0.1.0
ALTER TABLE orders VALIDATE CONSTRAINT orders_authorized_at_most_total;
ALTER TABLE orders VALIDATE CONSTRAINT orders_captured_at_most_authorized;
ALTER TABLE orders VALIDATE CONSTRAINT orders_refunded_at_most_captured;
ALTER TABLE orders VALIDATE CONSTRAINT orders_held_while_pending;
ALTER TABLE orders VALIDATE CONSTRAINT orders_sale;
ALTER TABLE open_transactions VALIDATE CONSTRAINT open_transactions_type_check;
ALTER TABLE open_transactions VALIDATE CONSTRAINT open_transactions_waiting;
ALTER TABLE open_transactions VALIDATE CONSTRAINT open_transactions_cause_check;
ALTER TABLE open_transactions VALIDATE CONSTRAINT open_transactions_capture_never_waits;
ALTER TABLE missing_operations VALIDATE CONSTRAINT missing_operations_kind_check;

-- The operations that the release before opens have no subject. So do adopted ones.
CREATE OR REPLACE FUNCTION describe_operation(operation open_transactions) RETURNS void LANGUAGE plpgsql AS $$
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
    ('auth', ARRAY['retry', operation.order_id::text]),
    ('refund', ARRAY['refund', operation.order_id::text]),
    ('void', ARRAY['void', operation.order_id::text])) AS s (type, subject)
  WHERE s.type = operation.type
    AND operation_reference(operation.company_id, s.subject, n) = operation.reference
  LIMIT 1;
  UPDATE open_transactions SET
    subject = coalesce(found_subject, CASE type WHEN 'refund' THEN ARRAY['refund key'] ELSE ARRAY['key'] END),
    number = coalesce(found_number, 0),
    cause = CASE WHEN type IN ('refund', 'void') THEN type WHEN request_id IS NULL AND type = 'sale' THEN 'renewal'
      WHEN found_subject IS NOT NULL THEN 'retry'
      WHEN placed.subscription_id IS NOT NULL THEN 'first_charge' ELSE 'order' END
  WHERE company_id = operation.company_id AND order_id = operation.order_id AND slot = operation.slot AND cause IS NULL;
END
$$;
