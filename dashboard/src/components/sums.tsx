/** Amounts with their total, as on an invoice. */
export function Sums({ sums }: { sums: readonly (readonly [label: string, amount: string] | false)[] }) {
  return (
    <dl className="flex flex-col gap-1 tabular-nums">
      {sums
        .filter((sum) => sum !== false)
        .map(([label, amount]) => (
          <div key={label} className="flex justify-between gap-4">
            <dt className="text-muted">{label}</dt>
            <dd className="font-medium">{amount}</dd>
          </div>
        ))}
    </dl>
  );
}
