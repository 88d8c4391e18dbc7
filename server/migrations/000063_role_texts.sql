-- expand, runs with 0.1.0
-- The built-in roles of older companies get the descriptions that new companies have.
UPDATE roles SET description = texts.now
FROM (VALUES
  ('Owner', 'Everything, the company itself included.', 'Full access.'),
  ('Admin', 'Everything but the company itself.', 'Full access except company settings.'),
  ('Developer', 'Integrates: keys, webhooks, events, and everything there is to test with.',
    'API keys, webhooks, logs and sandbox tools.'),
  ('Support', 'Helps customers: their data, cards, orders and subscriptions.',
    'Customers and their cards, orders and subscriptions.'),
  ('Viewer', 'Looks, and changes nothing.', 'Read-only access.')
) AS texts (name, before, now)
WHERE NOT roles.custom AND roles.name = texts.name AND roles.description = texts.before;
