import { lazy, type ReactNode, Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Action } from '../actions.ts';
import { neededFor } from '../navigation.ts';
import { companyOf, companyTag, rememberCompany, SignedInContext, useSessionQuery, useSignedIn } from '../session.ts';
import { common, shell } from '../texts/common.ts';
import type { Session } from '../types.ts';
import { Button, IconButton } from './button.tsx';
import { CommandPalette } from './command-palette.tsx';
import { CompanySwitcher, ModeSwitch, SandboxDate, useCounterparts } from './company-switcher.tsx';
import { Icon } from './icons.tsx';
import { Logo } from './logo.tsx';
import { Navigation } from './navigation.tsx';
import { Empty } from './empty.tsx';
import { Failure, Skeleton } from './page.tsx';
import { DiscardChanges } from './discard-changes.tsx';
import { useShortcuts } from './shortcuts.ts';
import { SignInAgain } from './sign-in-again.tsx';
import { StepUp } from './step-up-dialog.tsx';
import { UserMenu, useSignOut } from './user-menu.tsx';
import { Link, navigate, useLocation, useSearch } from '../routing.tsx';

// Loaded when it is first opened. The palette is not: people type as soon as they have pressed its keys.
const ShortcutList = lazy(async () => ({ default: (await import('./shortcut-list.tsx')).ShortcutList }));

/** The frame around every page after sign-in. */
export function Shell({ children }: { children: ReactNode }) {
  const query = useSessionQuery();
  if (query.data) return <ShellOf session={query.data}>{children}</ShellOf>;
  if (query.error && !('status' in query.error && query.error.status === 401)) {
    return <Failure error={query.error} retry={() => void query.refetch()} />;
  }
  return (
    <div className="p-10">
      <Skeleton />
    </div>
  );
}

function ShellOf({ session, children }: { session: Session; children: ReactNode }) {
  const signOut = useSignOut();
  const search = useSearch();
  const { company: tag } = search;
  const company = companyOf(session, tag);
  const known = company && companyTag(company);
  // Before the page reads anything: its calls are for this company.
  const signedIn = useMemo(() => {
    if (company) rememberCompany(company.id);
    return company && { session, company };
  }, [session, company]);
  useEffect(() => {
    if (known && !tag) void navigate({ search: { ...search, company: known }, replace: true });
  }, [known, tag, search]);
  if (!signedIn && tag && session.companies.length > 0) {
    const home = (
      <Button kind="primary" onClick={() => location.assign('/home')}>
        {shell.openOwn}
      </Button>
    );
    return (
      <Empty title={shell.otherCompany} actions={home}>
        {shell.otherCompanyHint(session.user.email)}
      </Empty>
    );
  }
  if (!signedIn) {
    const leave = <Button onClick={() => void signOut()}>{shell.signOut}</Button>;
    return (
      <Empty title={shell.noCompany} actions={leave}>
        {shell.noCompanyHint}
      </Empty>
    );
  }
  return (
    <SignedInContext value={signedIn}>
      <Frame key={signedIn.company.id}>{children}</Frame>
      <StepUp />
      <SignInAgain />
      <DiscardChanges />
    </SignedInContext>
  );
}

function Frame({ children }: { children: ReactNode }) {
  const { company } = useSignedIn();
  const [drawer, setDrawer] = useState(false);
  const [opened, setOpened] = useState<'palette' | 'shortcuts'>();
  const openPalette = useCallback(() => setOpened('palette'), []);
  const openShortcuts = useCallback(() => setOpened('shortcuts'), []);
  useShortcuts({ onPalette: openPalette, onHelp: openShortcuts });
  const { pathname } = useLocation();
  const needed = neededFor[pathname];
  const shown = useRef(pathname);
  useEffect(() => {
    if (shown.current === pathname) return;
    shown.current = pathname;
    setDrawer(false);
    showPlace();
    // Moves the focus to the new page, for keyboard and screen reader users.
    const content = document.querySelector<HTMLElement>('#content');
    if (content && !content.contains(document.activeElement)) content.focus({ preventScroll: true });
  }, [pathname]);
  useEffect(showPlace, []);
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      if (event.key === 'k' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        setOpened((open) => (open ? undefined : 'palette'));
      } else if (event.key === 'Escape') setDrawer(false);
    }
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <>
      <a
        href="#content"
        className="sr-only z-50 rounded-[8px] bg-accent px-4 py-2 text-on-accent focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        {common.skip}
      </a>
      <header
        className={`sticky top-0 z-30 flex h-14 items-center gap-2 border-b border-line bg-canvas px-3 sm:gap-3 sm:px-4 ${topLines[company.mode]}`}
      >
        <IconButton
          className="lg:hidden"
          label={shell.openNavigation}
          icon="menu"
          aria-expanded={drawer}
          onClick={() => setDrawer(true)}
        />
        <Link to="/home" className="rounded-[8px] lg:mr-2">
          <Logo named={false} />
        </Link>
        <Sites className="flex gap-1 max-lg:hidden" />
        <div className="grow" />
        <button
          type="button"
          aria-keyshortcuts="Control+K"
          onClick={openPalette}
          className="flex min-h-9 items-center gap-2 rounded-[8px] px-2 text-muted hover:bg-sunken sm:w-64 sm:border sm:border-line sm:px-3 sm:hover:border-line-strong sm:hover:bg-canvas"
        >
          <Icon name="search" />
          <span className="grow truncate text-left max-sm:sr-only">{shell.search}</span>
          <kbd className="rounded bg-sunken px-1.5 font-sans text-xs max-sm:hidden">Ctrl K</kbd>
        </button>
        <SandboxDate />
        <ModeSwitch />
        <UserMenu />
      </header>
      <div className="flex">
        <aside
          className={`fixed inset-y-0 left-0 z-40 flex w-64 shrink-0 flex-col overflow-y-auto [scrollbar-width:thin] border-r border-line bg-rail lg:sticky lg:top-14 lg:z-10 lg:h-[calc(100dvh-3.5rem)] lg:w-60 ${drawer ? 'drawer-left' : 'max-lg:hidden'}`}
        >
          <div className="flex items-center gap-1 p-3 pb-1">
            <CompanySwitcher />
            {drawer && (
              <IconButton
                autoFocus
                className="lg:hidden"
                label={common.close}
                icon="close"
                onClick={() => setDrawer(false)}
              />
            )}
          </div>
          <Navigation company={company} />
          <Sites className="flex flex-col gap-0.5 border-t border-line p-3 lg:hidden" />
        </aside>
        {drawer && (
          <div
            aria-hidden="true"
            className="fixed inset-0 z-30 bg-black/40 lg:hidden"
            onClick={() => setDrawer(false)}
          />
        )}
        <main id="content" tabIndex={-1} className="min-w-0 grow outline-none" inert={drawer}>
          {needed && !company.permissions.includes(needed) ? (
            <Empty title={common.refusedTitle}>{common.notAllowed}</Empty>
          ) : (
            children
          )}
        </main>
      </div>
      <Suspense>
        {opened === 'palette' && <Palette onHelp={openShortcuts} onClose={() => setOpened(undefined)} />}
        {opened === 'shortcuts' && <ShortcutList onClose={() => setOpened(undefined)} />}
      </Suspense>
    </>
  );
}

/** The mode is on every page. */
const topLines = {
  sandbox: 'border-t-3 border-t-sandbox',
  rehearsal: 'border-t-3 border-t-info',
  live: '',
} as const;

/** The palette with the actions that the shell has at hand. */
function Palette({ onHelp, onClose }: { onHelp: () => void; onClose: () => void }) {
  const counterparts = useCounterparts();
  const signOut = useSignOut();
  const actions: readonly Action[] = [
    ...counterparts.map(({ company, open }) => ({
      title: shell.actions.switchTo(shell[company.mode].toLowerCase()),
      words: 'mode live sandbox rehearsal test',
      icon: 'transactions' as const,
      run: open,
    })),
    { title: shell.shortcuts.title, words: 'keys help', icon: 'keyboard', run: onHelp },
    { title: shell.account, words: 'profile password', icon: 'settings', to: '/account' },
    { title: shell.signOut, words: 'log out leave', icon: 'close', run: () => void signOut() },
  ];
  return <CommandPalette actions={actions} onClose={onClose} />;
}

/** The navigation is longer than many screens. Only it scrolls: the page stays where it is. */
function showPlace(): void {
  const place = document.querySelector('nav [aria-current="page"]');
  const rail = place?.closest('aside');
  if (!place || !rail) return;
  const [inside, outside] = [place.getBoundingClientRect(), rail.getBoundingClientRect()];
  rail.scrollTop += Math.max(0, inside.bottom - outside.bottom) + Math.min(0, inside.top - outside.top);
}

const siteLook =
  'rounded-[8px] px-2.5 py-1.5 text-muted hover:bg-sunken hover:text-ink aria-[current]:font-medium aria-[current]:text-ink';

/** The same links as on the pages of the guides and the API reference. */
function Sites({ className }: { className: string }) {
  return (
    <nav aria-label={shell.sites.label} className={className}>
      <Link to="/home" aria-current="true" className={siteLook}>
        {shell.sites.dashboard}
      </Link>
      <a href="/docs" className={siteLook}>
        {shell.sites.guides}
      </a>
      <a href="/docs/api/" className={siteLook}>
        {shell.sites.reference}
      </a>
    </nav>
  );
}
