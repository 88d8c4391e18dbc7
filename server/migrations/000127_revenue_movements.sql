-- expand, runs with 0.1.0

-- What makes MRR rise and fall: subscriptions that begin, cost more, cost less, or no longer count.
CREATE OR REPLACE FUNCTION figures_between(of_company uuid, first timestamp with time zone, next timestamp with time zone)
 RETURNS jsonb
 LANGUAGE sql
 STABLE
AS $function$
  WITH paid AS (
    SELECT currency, sum(amount) FILTER (WHERE is_paid) AS gross, count(*) FILTER (WHERE is_paid) AS payments,
      sum(amount) FILTER (WHERE is_refund) AS refunded
    FROM (SELECT currency, amount, type = 'sale' AND status IN ('succeeded', 'chargeback') AS is_paid,
        type = 'refund' AND status = 'succeeded' AS is_refund
      FROM transactions WHERE company_id = of_company AND id >= first_id(first) AND id < first_id(next)) t GROUP BY 1
  ), failed AS (
    -- Both conditions: the second one is that of the index.
    SELECT currency, failure_code, count(*) AS count FROM transactions
    WHERE company_id = of_company AND status = 'failed' AND status <> 'succeeded' AND type = 'sale'
      AND id >= first_id(first) AND id < first_id(next) GROUP BY 1, 2
  ), moved AS (
    SELECT currency, sum(monthly) AS monthly, sum(subscribers) AS subscribers, sum(ended) AS ended,
      sum(monthly) FILTER (WHERE subscribers = 1) AS began,
      sum(monthly) FILTER (WHERE subscribers = 0 AND monthly > 0) AS expanded,
      -sum(monthly) FILTER (WHERE subscribers = 0 AND monthly < 0) AS contracted,
      -sum(monthly) FILTER (WHERE subscribers = -1) AS lapsed
    FROM subscription_movements WHERE company_id = of_company AND at >= first AND at < next GROUP BY 1
  ), parts (currency, name, value) AS (
    SELECT currency, 'gross', gross FROM paid
    UNION ALL SELECT currency, 'payments', payments FROM paid
    UNION ALL SELECT currency, 'refunded', refunded FROM paid
    UNION ALL SELECT currency, 'failed', count FROM failed
    UNION ALL SELECT currency, 'failed:' || failure_code, count FROM failed
    UNION ALL SELECT currency, 'disputed', amount FROM disputes
      WHERE company_id = of_company AND id >= first_id(first) AND id < first_id(next)
        AND state IN ('needs_response', 'under_review', 'lost', 'accepted')
    UNION ALL SELECT currency, 'monthly', monthly FROM moved
    UNION ALL SELECT currency, 'subscribers', subscribers FROM moved
    UNION ALL SELECT currency, 'ended', ended FROM moved
    UNION ALL SELECT currency, 'new_mrr', began FROM moved
    UNION ALL SELECT currency, 'expansion', expanded FROM moved
    UNION ALL SELECT currency, 'contraction', contracted FROM moved
    UNION ALL SELECT currency, 'churned_mrr', lapsed FROM moved
    -- A customer that was deleted since still counts.
    UNION ALL SELECT '', 'customers', count(*) FROM customers
      WHERE company_id = of_company AND id >= first_id(first) AND id < first_id(next)
    UNION ALL SELECT '', 'customers', count(*) FROM tombstones
      WHERE company_id = of_company AND id >= first_id(first) AND id < first_id(next) AND object_type = 'customer'
  ), totals AS (
    SELECT currency, name, sum(value) AS value FROM parts GROUP BY 1, 2 HAVING sum(value) <> 0
  )
  SELECT coalesce(jsonb_object_agg(currency, of_currency), '{}')
  FROM (SELECT currency, jsonb_object_agg(name, value) AS of_currency FROM totals GROUP BY 1) by_currency
$function$;

-- Days with movements are summed again. Until then, they are summed when they are read.
INSERT INTO figure_marks (company_id, at)
SELECT d.company_id, d.starts_at FROM figure_days d WHERE d.figures IS NOT NULL AND EXISTS (
  SELECT 1 FROM subscription_movements m WHERE m.company_id = d.company_id AND m.at >= d.starts_at AND m.at < d.ends_at);
