/** A line without axes. The last part is dashed while its time is not over. */
export function Sparkline({
  values,
  unfinished,
  fromZero,
}: {
  values: readonly (number | null)[];
  unfinished: boolean;
  fromZero: boolean;
}) {
  const known = values.flatMap((value, index) => (value === null ? [] : [{ value, index }]));
  if (known.length < 2) return <span aria-hidden="true" className="block h-8" />;
  const all = known.map(({ value }) => value);
  const [low, high] = [Math.min(...(fromZero ? [0] : []), ...all), Math.max(...all)];
  const places = known.map(({ value, index }): [number, number] => [
    (index * 100) / Math.max(1, values.length - 1),
    high > low ? 29 - (27 * (value - low)) / (high - low) : fromZero || high === 0 ? 29 : 15,
  ]);
  const line = (some: readonly [number, number][]): string =>
    some.map(([x, y]) => `${x.toFixed(2)},${y.toFixed(2)}`).join(' ');
  const finished = unfinished ? places.slice(0, -1) : places;
  const shared = {
    fill: 'none',
    stroke: 'currentColor',
    strokeWidth: 1.5,
    vectorEffect: 'non-scaling-stroke',
  } as const;
  return (
    <svg
      viewBox="0 0 100 30"
      preserveAspectRatio="none"
      aria-hidden="true"
      className={`block h-8 w-full ${all.some((value) => value !== 0) ? 'text-accent-ink' : 'text-line'}`}
    >
      <polyline {...shared} points={line(finished)} strokeLinejoin="round" />
      {unfinished && <polyline {...shared} points={line(places.slice(-2))} strokeDasharray="3 3" />}
    </svg>
  );
}
