import { useState } from 'react';
import { call } from '../../api.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { useAction } from '../../components/form.tsx';
import { common } from '../../texts/common.ts';
import { home } from '../../texts/home.ts';
import type { FigureName, SavedView } from '../../types.ts';
import { type Metric, metrics } from './metrics.ts';

interface ArrangingProps {
  readonly shown: readonly Metric[];
  /** Where the order is kept, and as which view. */
  readonly path: string;
  readonly view: { readonly list: string; readonly name: string };
  readonly onClose: () => void;
}

/** Buttons move a figure up and down, so that the keyboard does what the mouse does. */
export function Arranging({ shown, path, view, onClose }: ArrangingProps) {
  const [order, setOrder] = useState<readonly FigureName[]>(shown.map((metric) => metric.name));
  const save = useAction<readonly FigureName[], SavedView>({
    send: (figures, key) => {
      const search = Object.fromEntries(figures.map((figure, place) => [figure, String(place)]));
      return call('POST', path, { body: { ...view, search }, key });
    },
    onDone: onClose,
    tells: true,
  });
  function move(place: number, to: number): void {
    const next = [...order];
    next.splice(to, 0, ...next.splice(place, 1));
    setOrder(next);
  }
  return (
    <Dialog title={home.arrangeTitle} onClose={onClose}>
      <p className="mb-3 text-muted">{home.arrangeText}</p>
      <ol className="mb-4">
        {order.map((figure, place) => {
          const [label] = home.metrics[figure];
          return (
            <li key={figure} className="flex items-center gap-1 border-b border-line py-1 last:border-0">
              <span className={`min-w-0 flex-1 truncate ${place < 3 ? 'font-semibold' : ''}`}>{label}</span>
              <IconButton
                label={home.moveUp(label)}
                icon="up"
                disabled={place === 0}
                onClick={() => move(place, place - 1)}
              />
              <IconButton
                label={home.moveDown(label)}
                icon="down"
                disabled={place === order.length - 1}
                onClick={() => move(place, place + 1)}
              />
            </li>
          );
        })}
      </ol>
      <div className="flex flex-wrap justify-end gap-2">
        <Button className="mr-auto" onClick={() => setOrder(metrics.map((metric) => metric.name))}>
          {home.arrangeReset}
        </Button>
        <Button onClick={onClose}>{common.cancel}</Button>
        <Button kind="primary" busy={save.busy} onClick={() => void save.run(order)}>
          {common.save}
        </Button>
      </div>
    </Dialog>
  );
}
