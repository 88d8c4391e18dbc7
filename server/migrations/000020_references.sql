-- How long a request to the processor of this company stays valid. With the company, because the time until which a
-- request is valid is stored before the vault is called.
ALTER TABLE companies ADD COLUMN request_life_ms integer NOT NULL DEFAULT 60000 CHECK (request_life_ms > 0);
UPDATE companies SET request_life_ms = 2000 WHERE mode = 'sandbox';
UPDATE companies c SET request_life_ms = p.request_life_ms
FROM vault.processor_connections p WHERE p.company_id = c.id;

-- What the processor knows an operation by, derived from what the operation stands for: a database that has forgotten it
-- derives the same reference again. Empty in older rows, whose id is their reference.
ALTER TABLE open_transactions
  ADD COLUMN reference uuid,
  -- From then on the processor refuses the request. The default serves processes of the version before this one.
  ADD COLUMN valid_until timestamptz NOT NULL DEFAULT now() + interval '10 minutes';
CREATE UNIQUE INDEX open_transactions_reference ON open_transactions (company_id, reference)
  WHERE reference IS NOT NULL;

ALTER TABLE transactions ADD COLUMN reference uuid;
CREATE UNIQUE INDEX transactions_reference ON transactions (company_id, reference) WHERE reference IS NOT NULL;

ALTER TABLE voids ADD COLUMN reference uuid;
CREATE UNIQUE INDEX voids_reference ON voids (company_id, reference) WHERE reference IS NOT NULL;
CREATE INDEX voids_order ON voids (company_id, order_id);

CREATE OR REPLACE VIEW all_transactions AS
  SELECT company_id, id, order_id, customer_id, payment_method_id, type, status, amount, currency, card_brand,
    card_last4, processor_response, failure_code, failure_reason, updated_at, coalesce(reference, id) AS reference
  FROM transactions
  UNION ALL
  SELECT company_id, id, order_id, customer_id, payment_method_id, type, 'in_progress', amount, currency, card_brand,
    card_last4, processor_response, NULL, NULL, updated_at, coalesce(reference, id)
  FROM open_transactions WHERE type <> 'void';
