import { useClockOffsetMs } from '../clock.ts';
import { dateOnly } from '../format.ts';
import { companyInMode, companyTag, counterpartsOf, useSignedIn } from '../session.ts';
import { shell } from '../texts/common.ts';
import type { Company } from '../types.ts';
import { mayDiscard } from '../unsaved.ts';
import { Badge } from './badge.tsx';
import { Button } from './button.tsx';
import { Icon } from './icons.tsx';
import { Menu, MenuItem, MenuLabel } from './menu.tsx';
import { Link, navigate } from '../routing.tsx';

/** Another company does not have the same objects, so the page of an object changes to its list. */
function useSwitch(): (company: Company) => Promise<void> {
  return async (company) => {
    if (!(await mayDiscard())) return;
    const list = location.pathname.replace(/\/[^/]*\d[^/]*$/, '');
    const to = list.startsWith('/sandbox') ? '/home' : list;
    await navigate({ to, search: { company: companyTag(company) } });
  };
}

export function ModeBadge({ mode }: { mode: Company['mode'] }) {
  if (mode === 'live') return <Badge status="live" label={shell.live} tone="good" />;
  return <span className={`rounded-full px-2 py-0.5 text-xs font-semibold ${looks[mode]}`}>{shell[mode]}</span>;
}

const looks: Readonly<Record<Company['mode'], string>> = {
  sandbox: 'bg-sandbox text-on-sandbox',
  rehearsal: 'bg-info-soft text-info',
  live: 'bg-good-soft text-good',
};

export function CompanySwitcher() {
  const { session, company } = useSignedIn();
  const change = useSwitch();
  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          title={shell.switchCompany}
          className="flex min-w-0 grow items-center gap-2.5 rounded-[8px] px-2 py-1.5 text-left hover:bg-sunken"
        >
          <span
            aria-hidden="true"
            className="flex size-8 shrink-0 items-center justify-center rounded-[8px] bg-accent font-semibold text-on-accent"
          >
            {company.name.slice(0, 1).toUpperCase()}
          </span>
          <span className="min-w-0 grow">
            <span className="line-clamp-2 leading-tight font-semibold wrap-anywhere">{company.name}</span>
            <span className="block truncate text-sm text-muted">{company.role.name}</span>
          </span>
          <Icon name="down" />
        </button>
      }
    >
      <MenuLabel>{shell.companies}</MenuLabel>
      {session.companies.map((other) => (
        <MenuItem key={other.id} onSelect={() => void change(other)}>
          <span className="grow truncate">{other.name}</span>
          <ModeBadge mode={other.mode} />
          {other.id === company.id && <Icon name="check" size={16} />}
        </MenuItem>
      ))}
    </Menu>
  );
}

interface Counterpart {
  readonly company: Company;
  readonly open: () => void;
}

/** The other companies of the merchant, and how to open them. */
export function useCounterparts(): readonly Counterpart[] {
  const { session, company } = useSignedIn();
  const change = useSwitch();
  return counterpartsOf(session, company).map((other) => ({ company: other, open: () => void change(other) }));
}

/** For pages that only the live company has. */
export function SwitchToLive() {
  const live = useCounterparts().find(({ company }) => company.mode === 'live');
  if (!live) return null;
  return (
    <Button kind="primary" onClick={live.open}>
      {shell.actions.switchTo(shell.live.toLowerCase())}
    </Button>
  );
}

/** The day of a sandbox whose clock is ahead, on every page. */
export function SandboxDate() {
  const offsetMs = useClockOffsetMs();
  if (offsetMs === 0) return null;
  return (
    <Link
      to="/sandbox/clock"
      title={shell.sandboxDate}
      className="flex min-h-9 items-center gap-1.5 rounded-[8px] px-2 text-sm whitespace-nowrap text-muted tabular-nums hover:bg-sunken hover:text-ink max-md:hidden"
    >
      <Icon name="sandbox" size={16} />
      <span className="sr-only">{shell.sandboxDate}</span>
      {dateOnly(new Date(Date.now() + offsetMs).toISOString())}
    </Link>
  );
}

const modes = ['sandbox', 'rehearsal', 'live'] as const;

/** Switches between the companies of a merchant. */
export function ModeSwitch() {
  const { session, company } = useSignedIn();
  const change = useSwitch();
  const has = (mode: Company['mode']): Company | undefined => companyInMode(session, company, mode);
  return (
    <div
      role="group"
      aria-label={shell.mode}
      className="flex shrink-0 rounded-[8px] border border-line bg-surface p-0.5"
    >
      {modes
        .filter((mode) => mode !== 'rehearsal' || has(mode))
        .map((mode) => (
          <button
            key={mode}
            type="button"
            aria-pressed={company.mode === mode}
            title={shell.modeHints[mode]}
            disabled={!has(mode)}
            onClick={() => {
              const other = has(mode);
              if (other && other.id !== company.id) void change(other);
            }}
            className={`rounded-[6px] px-2.5 py-1 text-sm font-semibold disabled:cursor-not-allowed disabled:opacity-60 ${company.mode === mode ? looks[mode] : 'text-muted hover:text-ink'}`}
          >
            {shell[mode]}
          </button>
        ))}
    </div>
  );
}
