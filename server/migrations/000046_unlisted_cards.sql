-- expand, runs with 0.1.0
-- A card that was typed on a checkout page for the email address of an existing customer. It pays its order or
-- subscription; it is neither listed nor offered, since the page does not know who typed it.
ALTER TABLE payment_methods ADD COLUMN listed boolean NOT NULL DEFAULT true;
