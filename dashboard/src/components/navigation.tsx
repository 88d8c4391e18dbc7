import { useEffect, useId, useState } from 'react';
import { type PlaceGroup, placesOf } from '../navigation.ts';
import { shell } from '../texts/common.ts';
import type { Company } from '../types.ts';
import { Icon } from './icons.tsx';
import { placeCounts } from './place-count.tsx';
import { Link, useLocation } from '../routing.tsx';

export function Navigation({ company }: { company: Company }) {
  return (
    <nav aria-label={shell.navigation} className="flex grow flex-col gap-3 px-3 pt-2 pb-4">
      {placesOf(company).map((group) =>
        group.folds ? (
          <FoldedGroup key={group.label} group={group} />
        ) : (
          <div key={group.label ?? ''}>
            {group.label && <p className="px-2.5 pb-1 text-xs font-medium text-muted">{group.label}</p>}
            <Places group={group} />
          </div>
        ),
      )}
    </nav>
  );
}

const isAt = (pathname: string, to: string): boolean =>
  pathname === to || (to !== '/developers' && pathname.startsWith(`${to}/`));

const storageName = (label: string): string => `svc.open.${label.toLowerCase()}`;

/** Opens by itself for the page that is shown, and otherwise stays as the merchant left it. */
function FoldedGroup({ group }: { group: PlaceGroup }) {
  const label = group.label ?? '';
  const { pathname } = useLocation();
  const list = useId();
  const isHere = group.places.some(({ to }) => pathname.startsWith(to));
  const [open, setOpen] = useState(() => isHere || localStorage.getItem(storageName(label)) === 'yes');
  useEffect(() => {
    if (isHere) setOpen(true);
  }, [isHere]);
  function toggle(): void {
    localStorage.setItem(storageName(label), open ? 'no' : 'yes');
    setOpen(!open);
  }
  return (
    <div>
      <button
        type="button"
        aria-expanded={open}
        aria-controls={list}
        onClick={toggle}
        className="flex w-full items-center justify-between rounded-[8px] px-2.5 py-1 text-xs font-medium text-muted hover:bg-sunken hover:text-ink"
      >
        {label}
        <span className={`transition-transform ${open ? '' : '-rotate-90'}`}>
          <Icon name="down" size={16} />
        </span>
      </button>
      <div id={list} hidden={!open}>
        <Places group={group} />
      </div>
    </div>
  );
}

function Places({ group }: { group: PlaceGroup }) {
  const { pathname } = useLocation();
  return (
    <ul className="flex flex-col gap-px">
      {group.places
        .filter(({ hidden }) => !hidden)
        .map(({ to, label, icon, counts }) => {
          const Count = counts && placeCounts[counts];
          return (
            <li key={to}>
              <Link
                to={to}
                aria-current={isAt(pathname, to) ? 'page' : undefined}
                className="flex min-h-7.5 items-center gap-2.5 rounded-[8px] px-2.5 py-0.5 max-lg:min-h-10 hover:bg-sunken aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent-ink"
              >
                <Icon name={icon} />
                {label}
                {Count && <Count />}
              </Link>
            </li>
          );
        })}
    </ul>
  );
}
