-- expand, runs with 0.1.0

-- The customer was absent when the order was charged, and the card has a mandate. Null for every other order.
ALTER TABLE orders ADD COLUMN off_session boolean;
-- The bank wants the customer to confirm the payment: the page where that is possible, and until when.
ALTER TABLE orders ADD COLUMN authentication_url text, ADD COLUMN authentication_until timestamptz;
ALTER TABLE orders ADD CONSTRAINT orders_authentication_ends
  CHECK ((authentication_url IS NULL) = (authentication_until IS NULL)) NOT VALID;
-- When the customer of the card was authenticated by the bank, so that it may be charged without the customer.
ALTER TABLE payment_methods ADD COLUMN mandated_at timestamptz;
