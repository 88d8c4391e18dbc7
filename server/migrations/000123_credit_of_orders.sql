-- expand, runs with 0.1.0

-- The part of the total that the credit of the customer pays, and what of it was given back. Null for every other order, and not written by them.
ALTER TABLE orders ADD COLUMN credit_applied bigint, ADD COLUMN credit_refunded bigint;
ALTER TABLE orders
  ADD CONSTRAINT orders_credit_applied CHECK (credit_applied IS NULL OR (credit_applied > 0 AND credit_applied <= total)) NOT VALID,
  ADD CONSTRAINT orders_credit_refunded CHECK (credit_refunded IS NULL OR (credit_refunded > 0
    AND credit_refunded <= coalesce(credit_applied, 0) AND credit_refunded <= refunded_amount)) NOT VALID;
-- An order that credit pays alone has no sale.
ALTER TABLE orders DROP CONSTRAINT orders_sale;
ALTER TABLE orders ADD CONSTRAINT orders_sale CHECK (CASE
    WHEN status IN ('pending', 'failed') THEN sale_id IS NULL
    ELSE sale_id IS NOT NULL OR total = coalesce(credit_applied, 0)
      OR (status = 'voided' AND authorized_amount IS NOT NULL AND captured_amount IS NULL)
  END) NOT VALID;
