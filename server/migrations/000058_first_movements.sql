-- expand, runs with 0.1.0
-- The movements of subscriptions that are older than the table. What happened between start and end is not known any
-- more. A subscription whose trigger was faster has its first movement already.
INSERT INTO subscription_movements (company_id, subscription_id, number, at, currency, monthly, subscribers, ended)
SELECT company_id, id, 1, id_time(id), currency,
  monthly_amount(amount, "interval", interval_count, coupon, greatest(current_cycle, 1) + 1), 1, 0
FROM subscriptions s WHERE (status IN ('active', 'past_due') OR (status <> 'pending' AND current_cycle > 0))
  AND NOT EXISTS (SELECT 1 FROM subscription_movements m WHERE m.company_id = s.company_id AND m.subscription_id = s.id)
FOR SHARE OF s
ON CONFLICT DO NOTHING;
INSERT INTO subscription_movements (company_id, subscription_id, number, at, currency, monthly, subscribers, ended)
SELECT s.company_id, s.id, 2, coalesce(s.canceled_at, s.completed_at, s.updated_at), s.currency, -m.monthly, -1,
  (s.status <> 'paused')::integer
FROM subscriptions s JOIN subscription_movements m ON m.company_id = s.company_id AND m.subscription_id = s.id
WHERE s.status IN ('canceled', 'completed', 'failed', 'paused') AND m.number = 1 AND m.subscribers = 1 AND NOT EXISTS (
  SELECT 1 FROM subscription_movements l WHERE l.company_id = s.company_id AND l.subscription_id = s.id AND l.number = 2)
FOR SHARE OF s
ON CONFLICT DO NOTHING;
