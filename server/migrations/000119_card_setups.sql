-- expand, runs with 0.1.0

-- Cards that customers save on a page while their bank may ask them. The row goes when the card is saved or refused.
CREATE TABLE card_setups (
  company_id uuid NOT NULL,
  -- Not listed until then. Also the reference at the processor.
  payment_method_id uuid NOT NULL,
  customer_id uuid NOT NULL,
  -- Null for the sandbox.
  connection_id uuid,
  -- Where the customer is led, and what the processor needs afterwards; sealed. Null until the processor has answered.
  step bytea,
  -- By the clock of the company.
  customer_until timestamptz NOT NULL,
  check_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, payment_method_id),
  CONSTRAINT card_setups_card FOREIGN KEY (company_id, payment_method_id)
    REFERENCES payment_methods (company_id, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX card_setups_customer ON card_setups (company_id, customer_id);
CREATE INDEX card_setups_check ON card_setups (check_at);
