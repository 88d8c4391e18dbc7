-- expand, runs with 0.1.0
-- Since when the account of a connection takes no charge without the security code; what a processor answered when a card was
-- verified; and for which of these answers a company refuses a card.
ALTER TABLE processor_connections ADD COLUMN code_wanted_at timestamptz;
ALTER TABLE card_tokens ADD COLUMN verification jsonb;
ALTER TABLE payment_methods ADD COLUMN verification jsonb;
ALTER TABLE companies ADD COLUMN card_rules jsonb NOT NULL DEFAULT '{}';
