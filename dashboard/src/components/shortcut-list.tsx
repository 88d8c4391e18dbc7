import { neededFor, placesOf } from '../navigation.ts';
import { useSignedIn } from '../session.ts';
import { shell } from '../texts/common.ts';
import { Dialog } from './dialog.tsx';
import { newOrder, pagesByLetter } from './shortcuts.ts';

export function ShortcutList({ onClose }: { onClose: () => void }) {
  const { company } = useSignedIn();
  const places = new Map(placesOf(company).flatMap((group) => group.places.map(({ to, label }) => [to, label])));
  const rows: readonly (readonly [keys: readonly string[], text: string])[] = [
    [['Ctrl', 'K'], shell.shortcuts.palette],
    [['/'], shell.shortcuts.search],
    [['j'], shell.shortcuts.down],
    [['k'], shell.shortcuts.up],
    [['Enter'], shell.shortcuts.open],
    ...(company.permissions.includes(neededFor[newOrder] ?? '') ? [[['n'], shell.actions.order] as const] : []),
    ...Object.entries(pagesByLetter).flatMap(([letter, to]) => {
      const label = places.get(to);
      return label ? [[['g', letter], label] as const] : [];
    }),
    [['?'], shell.shortcuts.help],
  ];
  return (
    <Dialog title={shell.shortcuts.title} onClose={onClose}>
      <dl className="grid grid-cols-[auto_1fr] items-center gap-x-6 gap-y-2">
        {rows.map(([keys, text]) => (
          <div key={text} className="contents">
            <dt className="flex gap-1">
              {keys.map((key) => (
                <kbd key={key} className="min-w-6 rounded bg-sunken px-1.5 py-0.5 text-center font-sans text-xs">
                  {key}
                </kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
