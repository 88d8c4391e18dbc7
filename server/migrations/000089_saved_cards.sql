-- expand, runs with 0.1.0
-- How a processor knows a card that the customer agreed to keep there, sealed: at Stripe a customer and a payment method.
-- A row stays after its card is deleted until the processor has confirmed that it has removed what it had.
CREATE TABLE vault.saved_cards (
  company_id uuid NOT NULL,
  card_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  key_version integer NOT NULL,
  wrapped_key bytea NOT NULL,
  sealed bytea NOT NULL,
  PRIMARY KEY (company_id, card_id, connection_id)
);
CREATE INDEX saved_cards_rotation ON vault.saved_cards (key_version);
