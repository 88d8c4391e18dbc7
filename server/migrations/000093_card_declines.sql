-- expand, runs with 0.1.0

-- Declines of live cards, which the vault counts: card networks charge fees for too many. The card is named by its
-- fingerprint, because one card can be stored many times. Rows are deleted after 30 days, and when a charge succeeds.
CREATE TABLE vault.card_declines (
  company_id uuid NOT NULL,
  connection_id uuid NOT NULL,
  -- The reference of the charge or the verification: one decline that is reported twice counts once.
  reference uuid NOT NULL,
  fingerprint text NOT NULL,
  at timestamptz NOT NULL,
  amount bigint NOT NULL,
  -- Null for a verification.
  currency text,
  by_customer boolean NOT NULL,
  -- Null while the outcome is in doubt. Then it does not count.
  failure_code text,
  PRIMARY KEY (company_id, connection_id, reference)
);
CREATE INDEX card_declines_card ON vault.card_declines (company_id, fingerprint);
CREATE INDEX card_declines_at ON vault.card_declines (at);

-- Null for cards that an older version stored; written at their first decline.
ALTER TABLE vault.cards ADD COLUMN fingerprint text;
