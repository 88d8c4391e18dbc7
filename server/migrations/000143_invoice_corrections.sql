-- expand, runs with 0.1.0

-- The earlier document that this one corrects, and why a person or a program corrected it.
ALTER TABLE invoices ADD COLUMN corrects_id uuid, ADD COLUMN reason text;
UPDATE invoices i SET corrects_id = p.id FROM invoices p
WHERE i.cause <> 'payment_recorded' AND p.company_id = i.company_id AND p.order_id = i.order_id
  AND p.cause = CASE i.cause WHEN 'refund_returned' THEN 'refund_settled' ELSE 'payment_recorded' END
  AND p.subject_id = CASE i.cause WHEN 'refund_returned' THEN i.subject_id ELSE i.order_id END;

-- A correction is a credit note of the whole invoice, and a new invoice. The subject of both is the invoice that they correct, so
-- invoices_once lets each invoice be corrected once.
ALTER TABLE invoices DROP CONSTRAINT invoices_cause;
ALTER TABLE invoices ADD CONSTRAINT invoices_cause CHECK (cause IN ('payment_recorded', 'refund_settled', 'refund_returned',
  'refunded_to_credit', 'payment_voided', 'invoice_canceled', 'invoice_corrected'));
ALTER TABLE invoices DROP CONSTRAINT invoices_kind;
ALTER TABLE invoices ADD CONSTRAINT invoices_kind CHECK (kind = CASE
  WHEN cause IN ('refund_settled', 'refunded_to_credit', 'payment_voided', 'invoice_canceled') THEN 'credit_note' ELSE 'invoice' END);
ALTER TABLE invoices DROP CONSTRAINT invoices_content;
ALTER TABLE invoices ADD CONSTRAINT invoices_content
  CHECK ((content IS NOT NULL) = (cause IN ('payment_recorded', 'invoice_corrected')));
ALTER TABLE invoices ADD CONSTRAINT invoices_corrects CHECK ((corrects_id IS NULL) = (cause = 'payment_recorded'));
ALTER TABLE invoices ADD CONSTRAINT invoices_corrected_subject
  CHECK (cause NOT IN ('invoice_canceled', 'invoice_corrected') OR subject_id = corrects_id);
ALTER TABLE invoices ADD CONSTRAINT invoices_reason
  CHECK ((reason IS NOT NULL) = (cause IN ('invoice_canceled', 'invoice_corrected')));

-- The invoice of an order that nothing has replaced. A correction locks the first invoice, so that a refund waits for it.
CREATE FUNCTION standing_invoice(of_company uuid, of_order uuid) RETURNS SETOF invoices LANGUAGE plpgsql AS $$
BEGIN
  PERFORM FROM invoices i WHERE i.company_id = of_company AND i.order_id = of_order AND i.cause = 'payment_recorded' FOR KEY SHARE;
  RETURN QUERY SELECT i.* FROM invoices i
    WHERE i.company_id = of_company AND i.order_id = of_order AND i.cause IN ('payment_recorded', 'invoice_corrected')
      AND NOT EXISTS (SELECT FROM invoices c WHERE c.company_id = of_company AND c.order_id = of_order
        AND c.cause = 'invoice_corrected' AND c.subject_id = i.id);
END $$;

-- As before, and they correct the standing invoice.
CREATE OR REPLACE FUNCTION credit_void() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO invoices (company_id, id, kind, cause, order_id, customer_id, subject_id, amount, currency, corrects_id)
  SELECT i.company_id, new_id(NEW.updated_at), 'credit_note', 'payment_voided', i.order_id, i.customer_id, i.order_id, i.amount,
    i.currency, i.id
  FROM standing_invoice(NEW.company_id, NEW.id) i
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION credit_refund() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO invoices (company_id, id, kind, cause, order_id, customer_id, subject_id, amount, currency, corrects_id)
  SELECT i.company_id, new_id(NEW.updated_at), CASE NEW.status WHEN 'succeeded' THEN 'credit_note' ELSE 'invoice' END,
    CASE NEW.status WHEN 'succeeded' THEN 'refund_settled' ELSE 'refund_returned' END, i.order_id, i.customer_id, NEW.id,
    NEW.amount, NEW.currency, CASE NEW.status WHEN 'succeeded' THEN i.id ELSE n.id END
  FROM standing_invoice(NEW.company_id, NEW.order_id) i
  LEFT JOIN invoices n ON n.company_id = i.company_id AND n.order_id = i.order_id AND n.cause = 'refund_settled'
    AND n.subject_id = NEW.id
  WHERE NEW.status = 'succeeded' OR n.id IS NOT NULL
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION credit_refund_to_credit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO invoices (company_id, id, kind, cause, order_id, customer_id, subject_id, amount, currency, corrects_id)
  SELECT i.company_id, new_id(id_time(NEW.id)), 'credit_note', 'refunded_to_credit', i.order_id, i.customer_id, NEW.id, NEW.amount,
    NEW.currency, i.id
  FROM standing_invoice(NEW.company_id, NEW.order_id) i
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

-- The built-in roles of older companies get what new companies have. Keys do not get it.
UPDATE roles SET permissions = permissions || '{invoices:write}'
WHERE NOT custom AND name IN ('Owner', 'Admin', 'Developer', 'Finance') AND NOT 'invoices:write' = ANY(permissions);
