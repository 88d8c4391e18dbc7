import { type KeyboardEvent, type ReactNode, useId } from 'react';
import { useFilters } from '../data.ts';

interface Tab {
  readonly id: string;
  readonly label: string;
  readonly content: ReactNode;
}

/** The open tab is part of the URL. */
export function Tabs({ tabs, label }: { tabs: readonly Tab[]; label: string }) {
  const [filters, change] = useFilters();
  const name = useId();
  const open = Math.max(
    0,
    tabs.findIndex(({ id }) => id === filters.tab),
  );
  const show = (index: number): void =>
    change({ tab: tabs[index]?.id, starting_after: undefined, ending_before: undefined });
  function onKeyDown(event: KeyboardEvent): void {
    const last = tabs.length - 1;
    const targets: Readonly<Record<string, number>> = {
      ArrowRight: open === last ? 0 : open + 1,
      ArrowLeft: open === 0 ? last : open - 1,
      Home: 0,
      End: last,
    };
    const target = targets[event.key];
    if (target === undefined) return;
    event.preventDefault();
    show(target);
    document.getElementById(`${name}-tab-${tabs[target]?.id}`)?.focus();
  }
  return (
    <>
      <div
        role="tablist"
        aria-label={label}
        className="mb-4 flex gap-1 overflow-x-auto border-b border-line"
        onKeyDown={onKeyDown}
      >
        {tabs.map((tab, index) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            id={`${name}-tab-${tab.id}`}
            aria-selected={index === open}
            aria-controls={`${name}-panel`}
            tabIndex={index === open ? 0 : -1}
            onClick={() => show(index)}
            className="-mb-px border-b-2 border-transparent px-3 py-2 font-medium whitespace-nowrap text-muted hover:text-ink aria-selected:border-accent-ink aria-selected:text-ink"
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${name}-panel`} aria-labelledby={`${name}-tab-${tabs[open]?.id}`} tabIndex={0}>
        {tabs[open]?.content}
      </div>
    </>
  );
}
