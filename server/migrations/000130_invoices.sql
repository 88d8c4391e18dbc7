-- expand, runs with 0.1.0

-- How a company numbers its invoices. Without a row, its payments have receipts only.
CREATE TABLE invoice_settings (
  company_id uuid PRIMARY KEY REFERENCES companies (id) ON DELETE CASCADE,
  enabled boolean NOT NULL,
  -- Null where it is the display name of the company.
  legal_name text,
  invoice_prefix text NOT NULL,
  credit_note_prefix text NOT NULL,
  with_year boolean NOT NULL,
  padding smallint NOT NULL,
  -- The tax that prices include, by country, region and category of products, with dates.
  tax_rates jsonb NOT NULL DEFAULT '[]',
  -- The last restore from a backup before the last number: the series after it begin with this time.
  restored_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- A prefix that ends with a digit could make two series write the same number.
  CONSTRAINT invoice_settings_invoice_prefix CHECK (invoice_prefix ~ '^[A-Z0-9/_.-]{0,19}([A-Z/_.-]|^)$'),
  CONSTRAINT invoice_settings_credit_note_prefix CHECK (credit_note_prefix ~ '^[A-Z0-9/_.-]{0,19}([A-Z/_.-]|^)$'),
  CONSTRAINT invoice_settings_padding CHECK (padding BETWEEN 1 AND 12)
);

-- The last number of each series. A series is named by what is written before its numbers, for example INV-2026-.
CREATE TABLE invoice_series (
  company_id uuid NOT NULL REFERENCES companies (id) ON DELETE CASCADE,
  label text NOT NULL,
  last_number integer NOT NULL,
  PRIMARY KEY (company_id, label),
  CONSTRAINT invoice_series_last_number CHECK (last_number > 0)
);

-- Invoices and credit notes. The content is copied in the transaction that records the payment; the worker adds the number.
-- Orders and refunds are not referenced: the check would be a lock in every payment, and a trigger of theirs writes the row.
CREATE TABLE invoices (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  kind text NOT NULL,
  cause text NOT NULL,
  order_id uuid NOT NULL,
  customer_id uuid NOT NULL,
  -- The refund of the document, or the entry of credit; otherwise the order.
  subject_id uuid NOT NULL,
  amount bigint NOT NULL,
  currency text NOT NULL,
  -- Null in documents that correct another one, whose content they have.
  content json,
  -- When it can have its number. Payments of the same moment that are recorded a little later come in their order.
  due_at timestamptz NOT NULL DEFAULT now() + interval '2 s',
  series text,
  number integer,
  full_number text,
  PRIMARY KEY (company_id, id),
  CONSTRAINT invoices_once UNIQUE (company_id, order_id, cause, subject_id),
  CONSTRAINT invoices_cause CHECK (cause IN ('payment_recorded', 'refund_settled', 'refund_returned', 'refunded_to_credit', 'payment_voided')),
  CONSTRAINT invoices_kind CHECK (kind = CASE WHEN cause IN ('refund_settled', 'refunded_to_credit', 'payment_voided') THEN 'credit_note' ELSE 'invoice' END),
  CONSTRAINT invoices_subject CHECK ((subject_id = order_id) = (cause IN ('payment_recorded', 'payment_voided'))),
  CONSTRAINT invoices_content CHECK ((content IS NOT NULL) = (cause = 'payment_recorded')),
  CONSTRAINT invoices_amount CHECK (amount >= 0),
  CONSTRAINT invoices_numbered CHECK (num_nulls(series, number, full_number) IN (0, 3)),
  CONSTRAINT invoices_positive_number CHECK (number > 0)
);
CREATE INDEX invoices_without_number ON invoices (company_id, id) WHERE number IS NULL;
CREATE UNIQUE INDEX invoices_number ON invoices (company_id, series, number) WHERE number IS NOT NULL;
CREATE UNIQUE INDEX invoices_full_number ON invoices (company_id, full_number) WHERE number IS NOT NULL;
CREATE INDEX invoices_customer ON invoices (company_id, customer_id, id) WHERE number IS NOT NULL;

CREATE FUNCTION new_id(at timestamptz) RETURNS uuid LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT overlay(gen_random_uuid()::text PLACING left(first_id(at)::text, 13) || '-7' FROM 1 FOR 15)::uuid
$$;

-- The rates of the place are copied too: where it is sent to, else the billing address, else the address of the customer, else that
-- of the seller.
CREATE FUNCTION invoice_payment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT coalesce((SELECT s.enabled FROM invoice_settings s WHERE s.company_id = NEW.company_id), false) THEN
    RETURN NULL;
  END IF;
  INSERT INTO invoices (company_id, id, kind, cause, order_id, customer_id, subject_id, amount, currency, content)
  SELECT NEW.company_id, new_id(NEW.updated_at), 'invoice', 'payment_recorded', NEW.id, NEW.customer_id, NEW.id,
    coalesce(NEW.captured_amount, NEW.total), NEW.currency, json_build_object(
      'mode', c.mode, 'time_zone', c.time_zone, 'order_number', NEW.order_number, 'description', NEW.description,
      'items', NEW.items, 'subtotal', NEW.subtotal, 'discount_amount', NEW.discount_amount, 'total', NEW.total, 'credit_applied', coalesce(NEW.credit_applied, 0),
      'coupon_code', NEW.coupon ->> 'code', 'shipping', NEW.shipping,
      'card', CASE WHEN NEW.sale_id IS NOT NULL
        THEN json_build_object('brand', NEW.card_brand, 'last_four', NEW.card_last4) END,
      'plan', CASE WHEN NEW.subscription_id IS NOT NULL THEN (
        SELECT CASE WHEN NEW.subscription_change IS NOT NULL
          THEN json_build_object('name', coalesce(NEW.description, u.plan_name), 'setup_fee', 0)
          ELSE json_build_object('name', coalesce(e.before ->> 'plan_name', u.plan_name), 'setup_fee',
            CASE WHEN coalesce(NEW.subscription_cycle, 1) = 1
              THEN coalesce((e.before ->> 'one_time_amount')::bigint, u.one_time_amount) ELSE 0 END) END
        FROM subscriptions u LEFT JOIN LATERAL (
          SELECT h.before FROM subscription_changes h WHERE h.company_id = u.company_id AND h.subscription_id = u.id
            AND h.recorded_at > id_time(NEW.id) ORDER BY h.number LIMIT 1
        ) e ON true WHERE u.company_id = NEW.company_id AND u.id = NEW.subscription_id) END,
      'tax', CASE WHEN s.tax_rates <> '[]' THEN (
        SELECT json_build_object('country', a.place ->> 'country', 'region', a.place ->> 'state', 'rates', (
          SELECT json_agg(r) FROM jsonb_array_elements(s.tax_rates) AS r WHERE r ->> 'country' = a.place ->> 'country'
        ), 'categories', (
          SELECT json_object_agg(d.id, d.category) FROM json_array_elements(NEW.items) AS item
          JOIN products d ON d.company_id = NEW.company_id AND d.id = (item ->> 'product_id')::uuid
          WHERE d.category IS NOT NULL
        ))
        FROM (VALUES (1, NEW.shipping::jsonb), (2, m.billing_details -> 'address'), (3, b.shipping_address), (4, p.address))
          AS a (number, place)
        WHERE a.place ->> 'country' IS NOT NULL ORDER BY a.number LIMIT 1
      ) END,
      'seller', json_build_object('name', coalesce(s.legal_name, p.display_name, c.name), 'address', p.address,
        'tax_id', p.tax_id, 'email', p.support_email, 'website', p.website, 'color', p.color),
      'buyer', json_build_object('name', b.first_name || ' ' || b.last_name, 'company', b.company, 'email', b.email,
        'address', coalesce(nullif(m.billing_details -> 'address', 'null'), b.shipping_address)))
  FROM companies c JOIN invoice_settings s ON s.company_id = c.id LEFT JOIN company_profiles p ON p.company_id = c.id
  CROSS JOIN customers b
  LEFT JOIN payment_methods m ON m.company_id = NEW.company_id AND m.id = NEW.payment_method_id
  WHERE c.id = NEW.company_id AND b.company_id = NEW.company_id AND b.id = NEW.customer_id
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER orders_invoiced AFTER UPDATE OF status ON orders FOR EACH ROW
  WHEN (OLD.status IN ('pending', 'failed') AND NEW.status NOT IN ('pending', 'failed', 'voided'))
  EXECUTE FUNCTION invoice_payment();
-- A total of zero succeeds at once.
CREATE TRIGGER orders_invoiced_at_once AFTER INSERT ON orders FOR EACH ROW
  WHEN (NEW.status NOT IN ('pending', 'failed', 'voided')) EXECUTE FUNCTION invoice_payment();

CREATE FUNCTION credit_void() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO invoices (company_id, id, kind, cause, order_id, customer_id, subject_id, amount, currency)
  SELECT i.company_id, new_id(NEW.updated_at), 'credit_note', 'payment_voided', i.order_id, i.customer_id, i.order_id, i.amount,
    i.currency
  FROM invoices i WHERE i.company_id = NEW.company_id AND i.order_id = NEW.id AND i.cause = 'payment_recorded'
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER orders_credited AFTER UPDATE OF status ON orders FOR EACH ROW
  WHEN (OLD.status NOT IN ('pending', 'failed', 'voided') AND NEW.status = 'voided') EXECUTE FUNCTION credit_void();

CREATE FUNCTION credit_refund() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO invoices (company_id, id, kind, cause, order_id, customer_id, subject_id, amount, currency)
  SELECT i.company_id, new_id(NEW.updated_at), CASE NEW.status WHEN 'succeeded' THEN 'credit_note' ELSE 'invoice' END,
    CASE NEW.status WHEN 'succeeded' THEN 'refund_settled' ELSE 'refund_returned' END, i.order_id, i.customer_id, NEW.id,
    NEW.amount, NEW.currency
  FROM invoices i WHERE i.company_id = NEW.company_id AND i.order_id = NEW.order_id AND i.cause = 'payment_recorded'
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER refunds_credited AFTER INSERT ON transactions FOR EACH ROW
  WHEN (NEW.type = 'refund' AND NEW.status = 'succeeded') EXECUTE FUNCTION credit_refund();
CREATE TRIGGER refunds_credited_later AFTER UPDATE OF status ON transactions FOR EACH ROW
  WHEN (NEW.type = 'refund' AND OLD.status <> NEW.status AND (NEW.status = 'succeeded' OR OLD.status = 'succeeded'))
  EXECUTE FUNCTION credit_refund();

-- What the credit of the customer paid goes back to the credit.
CREATE FUNCTION credit_refund_to_credit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO invoices (company_id, id, kind, cause, order_id, customer_id, subject_id, amount, currency)
  SELECT i.company_id, new_id(id_time(NEW.id)), 'credit_note', 'refunded_to_credit', i.order_id, i.customer_id, NEW.id, NEW.amount,
    NEW.currency
  FROM invoices i WHERE i.company_id = NEW.company_id AND i.order_id = NEW.order_id AND i.cause = 'payment_recorded'
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER credit_refunds_credited AFTER INSERT ON credit_entries FOR EACH ROW WHEN (NEW.type = 'refund')
  EXECUTE FUNCTION credit_refund_to_credit();

-- The built-in roles of older companies get what new companies have. Keys do not get it.
UPDATE roles SET permissions = permissions || '{invoices:read}'
WHERE NOT custom AND name IN ('Owner', 'Admin', 'Developer', 'Finance', 'Support', 'Viewer') AND NOT 'invoices:read' = ANY(permissions);
