-- The rule for the first renewal after a start changed (docs/decisions/0013-subscriptions.md). A subscription that is already
-- billed on an anchor day keeps its dates: it counts from the anchor date one interval before its next date, and from an
-- anchor date the old rule and the new one give the same dates. `current_period_end` is that next date.
UPDATE subscriptions s SET next_number = 1,
  base_at = (month + make_interval(days => least(s.anchor_day::integer, last_day) - 1) + time_of_day) AT TIME ZONE 'UTC'
FROM (
  SELECT company_id, id, month, next_date - date_trunc('day', next_date) AS time_of_day,
    extract(day FROM month + interval '1 month - 1 day')::integer AS last_day
  FROM subscriptions
  CROSS JOIN LATERAL (SELECT current_period_end AT TIME ZONE 'UTC' AS next_date) AS dates
  CROSS JOIN LATERAL (SELECT date_trunc('month', next_date) - make_interval(months => interval_count) AS month) AS months
  WHERE interval = 'month' AND anchor_day IS NOT NULL AND current_period_end IS NOT NULL
) dated
WHERE s.company_id = dated.company_id AND s.id = dated.id;
