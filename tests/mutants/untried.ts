/** Rules that no run has taken out yet; `npm run mutants -- --changed` does. The list only shrinks: a new rule is tried before it lands. */

export const untried: readonly string[] = [
  'server/features/orders/operations/outcome-queries.ts: mandating: p.id = r.method_id',
  'server/features/orders/operations/outcome-queries.ts: mandating: p.mandated_at IS NULL',
  "server/features/orders/recovery/adopt-queries.ts: takeLater: cause <> 'capture'",
  'server/features/orders/recovery/chargeback-queries.ts: sameDispute: d.connection_id = u.connection_id',
  "server/features/orders/recovery/chargeback-queries.ts: keepUnmatched: unmatched_chargebacks.state <> 'open'",
  'server/features/orders/recovery/chargeback-queries.ts: keepUnmatched: unmatched_chargebacks.happened_at < excluded.happened_at',
  "server/features/orders/recovery/chargeback-queries.ts: searchCharges: type = 'sale'",
  "server/features/orders/recovery/chargeback-queries.ts: searchCharges: status IN ('succeeded', 'chargeback')",
  'server/features/orders/recovery/chargeback-queries.ts: markDecided: id = $2',
];
