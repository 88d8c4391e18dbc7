import {
  type ComponentProps,
  createContext,
  type MouseEvent,
  type ReactNode,
  startTransition,
  useContext,
  useEffect,
  useLayoutEffect,
  useState,
} from 'react';
import { pageAt, paramsOf } from './pages.ts';

/** The address of the page, on the history of the browser. */

export type Search = Readonly<Record<string, string>>;

export interface Place {
  readonly pathname: string;
  readonly search: Search;
  /** The position in the history of this tab. */
  readonly index: number;
}

export interface Target {
  /** A path; `.` stays on the page. */
  readonly to?: string;
  /** A whole address of the dashboard, with its filters. */
  readonly href?: string;
  readonly search?: Readonly<Record<string, string | undefined>> | undefined;
  readonly replace?: boolean;
}

interface Blocker {
  /** True if there is a reason to ask. */
  readonly asks: () => boolean;
  /** True if the user agrees to leave the page. */
  readonly mayLeave: () => Promise<boolean>;
}

const indexOf = (state: unknown): number => (state as { index?: number } | null)?.index ?? 0;

function placeAt({ pathname, search }: { pathname: string; search: string }, index: number): Place {
  return { pathname, search: Object.fromEntries(new URLSearchParams(search)), index };
}

if (history.state === null) history.replaceState({ index: 0 }, '');
let current = placeAt(location, indexOf(history.state));
let blocker: Blocker | undefined;
let show: (place: Place, isOtherPage: boolean) => void = () => undefined;
/** Ends a step through the history that this module makes itself. */
let endOwnStep: (() => void) | undefined;

function textOf(search: Target['search'] = {}): string {
  // Every link stays in the company that the address names.
  const whole = { company: current.search['company'], ...search };
  const set = Object.entries(whole).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const text = new URLSearchParams(set).toString();
  return text === '' ? '' : `?${text}`;
}

function addressOf({ to = '.', href, search }: Target): string {
  if (href !== undefined) return href;
  return (to === '.' ? current.pathname : to) + textOf(search);
}

export async function navigate(target: Target): Promise<void> {
  const { replace = false } = target;
  const address = addressOf(target);
  const next = placeAt(new URL(address, location.origin), current.index + (replace ? 0 : 1));
  if (mustAsk(next) && !(await blocker?.mayLeave())) return;
  positions.set(current.index, scrollY);
  history[replace ? 'replaceState' : 'pushState']({ index: next.index }, '', address);
  if (!replace) positions.delete(next.index);
  open(next);
}

function open(next: Place): void {
  const isOtherPage = next.pathname !== current.pathname;
  current = next;
  show(next, isOtherPage);
}

/** Filters and open drawers change the address, but not the page. */
const mustAsk = (next: Place): boolean => next.pathname !== current.pathname && blocker?.asks() === true;

/** Resolves when the browser has moved, because a second move before that would replace the first. */
function step(by: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  endOwnStep = resolve;
  history.go(by);
  return promise;
}

async function onStep(event: PopStateEvent): Promise<void> {
  if (endOwnStep) {
    endOwnStep();
    endOwnStep = undefined;
    return;
  }
  // A link to a part of the page, such as its content.
  if (event.state === null) return history.replaceState({ index: current.index }, '');
  const next = placeAt(location, indexOf(event.state));
  const steps = next.index - current.index;
  if (mustAsk(next) && steps !== 0) {
    // The browser has moved already. It moves back for as long as the question is open.
    await step(-steps);
    if (!(await blocker?.mayLeave())) return;
    await step(steps);
  }
  positions.set(current.index, scrollY);
  open(next);
}

const positionsName = 'svc.positions';
const positions = new Map<number, number>(readPositions());

function readPositions(): [number, number][] {
  try {
    return JSON.parse(sessionStorage.getItem(positionsName) ?? '[]') as [number, number][];
  } catch {
    return [];
  }
}

/** How many frames a page has to reach its former height. */
const framesToFill = 40;

function scrollBack(toPx: number, frames = framesToFill): void {
  scrollTo(0, toPx);
  if (Math.abs(scrollY - toPx) > 1 && frames > 0) requestAnimationFrame(() => scrollBack(toPx, frames - 1));
}

const PlaceContext = createContext<Place>(current);

/** Gives the place to the page. A page that is not loaded yet leaves the former one visible meanwhile. */
export function PlaceProvider({ children }: { children: ReactNode }) {
  const [place, setPlace] = useState(current);
  // Before the effects of pages, which may navigate.
  useLayoutEffect(() => {
    // A filter that is ticked must not wait: React would untick it until the transition ends.
    show = (next, isOtherPage) => (isOtherPage ? startTransition(() => setPlace(next)) : setPlace(next));
    const onPopState = (event: PopStateEvent): void => void onStep(event);
    const keep = (): void => {
      positions.set(current.index, scrollY);
      sessionStorage.setItem(positionsName, JSON.stringify([...positions]));
    };
    history.scrollRestoration = 'manual';
    addEventListener('popstate', onPopState);
    addEventListener('pagehide', keep);
    return () => {
      removeEventListener('popstate', onPopState);
      removeEventListener('pagehide', keep);
    };
  }, []);
  useLayoutEffect(() => scrollBack(positions.get(place.index) ?? 0), [place.index]);
  return <PlaceContext value={place}>{children}</PlaceContext>;
}

export const useLocation = (): Place => useContext(PlaceContext);
export const useSearch = (): Search => useLocation().search;
export const useParams = (): Readonly<Record<string, string>> => paramsOf(useLocation().pathname);

/** Asks before the page changes, or the browser leaves the dashboard. There is one at a time. */
export function useBlocker({ asks, mayLeave }: Blocker): void {
  useEffect(() => {
    const own: Blocker = { asks, mayLeave };
    const onUnload = (event: BeforeUnloadEvent): void => {
      if (asks()) event.preventDefault();
    };
    blocker = own;
    addEventListener('beforeunload', onUnload);
    return () => {
      if (blocker === own) blocker = undefined;
      removeEventListener('beforeunload', onUnload);
    };
  }, [asks, mayLeave]);
}

/** Loads the file of a page before it is opened. */
export const preload = async (pathname: string): Promise<void> =>
  pageAt(pathname)
    ?.load()
    .catch(() => undefined);

type LinkProps = Omit<ComponentProps<'a'>, 'href'> & Pick<Target, 'search'> & { readonly to: string };

export function Link({ to, search, ...rest }: LinkProps) {
  useLocation();
  const href = addressOf({ to, search });
  const soon = (): void => void preload(to);
  return (
    <a
      {...rest}
      href={href}
      onPointerEnter={soon}
      onFocus={soon}
      onClick={(event: MouseEvent<HTMLAnchorElement>) => {
        rest.onClick?.(event);
        const isOther = event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
        if (event.defaultPrevented || isOther) return;
        event.preventDefault();
        void navigate({ href });
      }}
    />
  );
}
