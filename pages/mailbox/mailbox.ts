/** The script of the mailbox: times of the reader, keys, search while typing, and new emails without a reload. */

const pollMs = 2_000;
const typingMs = 200;

const secondsPer = { minute: 60, hour: 3_600, day: 86_400 } as const;

const byKey = (id: string): HTMLElement => {
  const found = document.getElementById(id);
  if (!found) throw new Error(`The page has no element #${id}.`);
  return found;
};

const daysBetween = (at: Date, now: Date): number => {
  const dayOf = (date: Date): number => Date.UTC(date.getFullYear(), date.getMonth(), date.getDate());
  return Math.round((dayOf(now) - dayOf(at)) / (secondsPer.day * 1_000));
};

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });

/** As mail programs do: the time of today, the name of a day of the last week, the date of others. */
function shortTime(at: Date, now: Date): string {
  const days = daysBetween(at, now);
  if (days === 0) return at.toLocaleTimeString(undefined, { timeStyle: 'short' });
  if (days === 1) return capital(relative.format(-1, 'day'));
  if (days > 1 && days < 7) return at.toLocaleDateString(undefined, { weekday: 'long' });
  const isThisYear = at.getFullYear() === now.getFullYear();
  return at.toLocaleDateString(undefined, { month: 'short', day: 'numeric', ...(!isThisYear && { year: 'numeric' }) });
}

const capital = (text: string): string => text.slice(0, 1).toLocaleUpperCase() + text.slice(1);

function longTime(at: Date, now: Date): string {
  const whole = at.toLocaleString(undefined, { dateStyle: 'full', timeStyle: 'short' });
  return `${whole} (${agoText(at, now)})`;
}

function agoText(at: Date, now: Date): string {
  const seconds = Math.round((at.getTime() - now.getTime()) / 1_000);
  const days = daysBetween(at, now);
  if (days > 0) return relative.format(-days, 'day');
  if (seconds > -secondsPer.minute) return relative.format(0, 'second');
  if (seconds > -secondsPer.hour) return relative.format(Math.ceil(seconds / secondsPer.minute), 'minute');
  return relative.format(Math.ceil(seconds / secondsPer.hour), 'hour');
}

function showTimes(within: ParentNode): void {
  const now = new Date();
  for (const time of within.querySelectorAll<HTMLTimeElement>('time[data-kind]')) {
    const at = new Date(time.dateTime);
    time.textContent = time.dataset.kind === 'short' ? shortTime(at, now) : longTime(at, now);
  }
}

const search = document.querySelector<HTMLInputElement>('#search');
/** What the service answered last, so that a list that has not changed is not drawn again. */
const known = { list: byKey('list').innerHTML, reading: byKey('reading').innerHTML };
let asked = 0;

async function load(address: string): Promise<Document | undefined> {
  asked += 1;
  const mine = asked;
  const response = await fetch(address).catch(() => undefined);
  if (!response?.ok) return undefined;
  const text = await response.text();
  // A later request is under way: its answer is the one to show.
  return mine === asked ? new DOMParser().parseFromString(text, 'text/html') : undefined;
}

function replace(part: keyof typeof known, from: Document): void {
  const content = from.getElementById(part);
  if (!content || content.innerHTML === known[part]) return;
  known[part] = content.innerHTML;
  const target = byKey(part);
  const { activeElement } = document;
  const focused = activeElement instanceof HTMLAnchorElement && target.contains(activeElement) && activeElement.href;
  const top = target.scrollTop;
  target.replaceChildren(...content.childNodes);
  target.scrollTop = part === 'list' ? top : 0;
  showTimes(target);
  const again = [...target.querySelectorAll('a')].find(({ href }) => href === focused);
  again?.focus({ preventScroll: true });
}

let going = 0;

/** Shows another address of the mailbox without a reload. */
async function go(address: string, isStep = true): Promise<void> {
  going += 1;
  const found = await load(address);
  going -= 1;
  if (!found) return;
  if (isStep) history.pushState(null, '', address);
  document.title = found.title;
  byKey('mailbox').className = found.getElementById('mailbox')?.className ?? '';
  replace('list', found);
  replace('reading', found);
  byKey('list').querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });
}

/** New emails appear in the list. What is being read stays, unless nothing is. */
async function refresh(): Promise<void> {
  // What the reader has just asked for is newer than this address.
  if (document.hidden || going > 0) return;
  const found = await load(location.href);
  if (!found) return;
  const isEmpty = byKey('reading').childElementCount === 0;
  const open = byKey('list').querySelector('[aria-current]')?.getAttribute('href');
  if (open && !isEmpty && !new URLSearchParams(location.search).has('mail')) {
    for (const link of found.querySelectorAll('#list a')) {
      if (link.getAttribute('href') === open) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
  }
  replace('list', found);
  if (isEmpty) replace('reading', found);
}

const rows = (): HTMLAnchorElement[] => [...byKey('list').querySelectorAll<HTMLAnchorElement>('li a')];

function step(by: 1 | -1): void {
  const all = rows();
  const next = all[all.findIndex((row) => row.hasAttribute('aria-current')) + by];
  if (!next) return;
  next.focus({ preventScroll: true });
  void go(next.href);
}

function isTyping(event: KeyboardEvent): boolean {
  return event.target instanceof HTMLInputElement || event.metaKey || event.ctrlKey || event.altKey;
}

const keys: Readonly<Record<string, () => void>> = {
  j: () => step(1),
  ArrowDown: () => step(1),
  k: () => step(-1),
  ArrowUp: () => step(-1),
  '/': () => search?.focus(),
  Escape: () => document.querySelector<HTMLAnchorElement>('.reading .back')?.click(),
};

document.addEventListener('keydown', (event) => {
  const act = keys[event.key];
  if (!act || isTyping(event)) return;
  event.preventDefault();
  act();
});

document.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (!link || !isPlain || new URL(link.href).pathname !== '/mailbox') return;
  event.preventDefault();
  void go(link.href);
});

const found = (): string => {
  const text = search?.value.trim() ?? '';
  return text ? `/mailbox?${new URLSearchParams({ q: text }).toString()}` : '/mailbox';
};
let typing: ReturnType<typeof setTimeout> | undefined;
search?.addEventListener('input', () => {
  clearTimeout(typing);
  typing = setTimeout(() => void go(found()), typingMs);
});
search?.form?.addEventListener('submit', (event) => {
  event.preventDefault();
  clearTimeout(typing);
  void go(found());
});
addEventListener('popstate', () => {
  if (search) search.value = new URLSearchParams(location.search).get('q') ?? '';
  void go(location.href, false);
});

showTimes(document);
setInterval(() => void refresh(), pollMs);
