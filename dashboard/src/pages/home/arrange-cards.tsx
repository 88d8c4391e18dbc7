import { lazy, Suspense, useState } from 'react';
import { Button } from '../../components/button.tsx';
import { useGet } from '../../data.ts';
import { home } from '../../texts/home.ts';
import type { SavedView } from '../../types.ts';
import { type Metric, metrics } from './metrics.ts';

const Arranging = lazy(async () => ({ default: (await import('./arranging.tsx')).Arranging }));

/** The order of the cards on Home is kept like a saved view: for each member, on every device. */

const path = '/dashboard/saved_views';
const view = { list: '/dashboard/home', name: 'cards' };

/** The figures in the order of the member. Those that the stored order does not have come last. */
export function useArrangedMetrics(): readonly Metric[] {
  const { data } = useGet<{ data: readonly SavedView[] }>(path);
  const places = data?.data.find(({ list, name }) => list === view.list && name === view.name)?.search ?? {};
  const placeOf = ({ name: figure }: Metric): number => Number(places[figure] ?? metrics.length);
  return metrics.toSorted((one, other) => placeOf(one) - placeOf(other));
}

export function ArrangeCards({ shown }: { shown: readonly Metric[] }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button small kind="quiet" icon="settings" onClick={() => setOpen(true)}>
        {home.arrange}
      </Button>
      {open && (
        <Suspense>
          <Arranging shown={shown} path={path} view={view} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
