-- expand, runs with 0.1.0

-- Chargebacks of which the processor does not say which payment they are about, if none or several fit. A person decides.
CREATE TABLE unmatched_chargebacks (
  company_id uuid NOT NULL,
  id uuid NOT NULL,
  connection_id uuid NOT NULL,
  -- The processor's ID of the chargeback.
  processor_id text NOT NULL,
  state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'matched', 'dismissed')),
  charged_back_on date,
  card_first6 text CHECK (card_first6 ~ '^[0-9]{6}$'),
  card_last4 text CHECK (card_last4 ~ '^[0-9]{4}$'),
  -- In whole units, for example 12.50: the processor does not name the currency.
  amount text,
  reason text NOT NULL,
  network_reason_code text,
  reason_text text,
  -- The payment that a person chose.
  transaction_id uuid,
  happened_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (company_id, id),
  CHECK ((state = 'matched') = (transaction_id IS NOT NULL)),
  FOREIGN KEY (company_id, connection_id) REFERENCES processor_connections (company_id, id)
);
CREATE UNIQUE INDEX unmatched_chargebacks_processor_id ON unmatched_chargebacks (company_id, connection_id, processor_id);
CREATE INDEX unmatched_chargebacks_open ON unmatched_chargebacks (company_id, created_at) WHERE state = 'open';
