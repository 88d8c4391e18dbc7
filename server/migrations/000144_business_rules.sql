-- expand, runs with 0.1.0

-- What a business buyer in another country means for the tax, by the rules of the merchant.
ALTER TABLE invoice_settings ADD COLUMN business_rules jsonb NOT NULL DEFAULT '[]';

-- As before, and with the rules for the place.
CREATE OR REPLACE FUNCTION invoice_payment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT coalesce((SELECT s.enabled FROM invoice_settings s WHERE s.company_id = NEW.company_id), false) THEN
    RETURN NULL;
  END IF;
  INSERT INTO invoices (company_id, id, kind, cause, order_id, customer_id, subject_id, amount, currency, content)
  SELECT NEW.company_id, new_id(NEW.updated_at), 'invoice', 'payment_recorded', NEW.id, NEW.customer_id, NEW.id,
    coalesce(NEW.captured_amount, NEW.total), NEW.currency, json_build_object(
      'mode', c.mode, 'time_zone', c.time_zone, 'locale', coalesce(b.locale, c.locale), 'order_number', NEW.order_number, 'description', NEW.description,
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
      'tax', CASE WHEN s.tax_rates <> '[]' OR s.business_rules <> '[]' THEN (
        SELECT json_build_object('country', a.place ->> 'country', 'region', a.place ->> 'state', 'business_rules', (
          SELECT json_agg(r) FROM jsonb_array_elements(s.business_rules) AS r WHERE r -> 'countries' ? (a.place ->> 'country')
        ), 'rates', (
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
      'buyer', json_build_object('name', b.first_name || ' ' || b.last_name, 'company', b.company, 'tax_id', b.tax_id, 'email', b.email,
        'address', coalesce(nullif(m.billing_details -> 'address', 'null'), b.shipping_address)))
  FROM companies c JOIN invoice_settings s ON s.company_id = c.id LEFT JOIN company_profiles p ON p.company_id = c.id
  CROSS JOIN customers b
  LEFT JOIN payment_methods m ON m.company_id = NEW.company_id AND m.id = NEW.payment_method_id
  WHERE c.id = NEW.company_id AND b.company_id = NEW.company_id AND b.id = NEW.customer_id
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
