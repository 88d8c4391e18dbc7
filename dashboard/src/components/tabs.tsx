import { Tabs as Radix } from 'radix-ui';
import type { ReactNode } from 'react';
import { useFilters } from '../data.ts';

interface Tab {
  readonly id: string;
  readonly label: string;
  readonly content: ReactNode;
}

/** The open tab is part of the URL. */
export function Tabs({ tabs, label }: { tabs: readonly Tab[]; label: string }) {
  const [filters, change] = useFilters();
  const open = tabs.find(({ id }) => id === filters.tab)?.id ?? tabs[0]?.id ?? '';
  return (
    <Radix.Root
      value={open}
      onValueChange={(tab) => change({ tab, starting_after: undefined, ending_before: undefined })}
    >
      <Radix.List aria-label={label} className="mb-4 flex gap-1 overflow-x-auto border-b border-line">
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.id}
            value={tab.id}
            className="-mb-px border-b-2 border-transparent px-3 py-2 font-medium whitespace-nowrap text-muted hover:text-ink data-[state=active]:border-accent-ink data-[state=active]:text-ink"
          >
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.id} value={tab.id}>
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
