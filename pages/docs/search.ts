import { make } from './elements.ts';
import { findEntries, type SearchEntry } from './ranking.ts';
import { docsTexts } from './texts.ts';

/** The search in guides and API reference. The index is loaded when the search is first opened. */

const excerptBefore = 40;
const excerptLength = 160;

/** The place of the text where the first word occurs, with the word marked. */
function excerptOf(text: string, typed: string): (Node | string)[] {
  const word = typed.toLowerCase().split(/\s+/).find(Boolean) ?? '';
  const at = text.toLowerCase().indexOf(word);
  if (at < 0) return [text.slice(0, excerptLength)];
  const from = Math.max(0, at - excerptBefore);
  return [
    `${from > 0 ? '…' : ''}${text.slice(from, at)}`,
    make('mark', {}, text.slice(at, at + word.length)),
    text.slice(at + word.length, from + excerptLength),
  ];
}

/** The results below the field, of which one is chosen. */
interface Results {
  readonly list: HTMLElement;
  show(entries: readonly SearchEntry[]): void;
  move(step: number): void;
  open(): void;
}

function makeResults(input: HTMLInputElement): Results {
  const list = make('ul', { id: 'search-results', role: 'listbox', 'aria-label': docsTexts.search });
  let chosen = 0;
  function choose(index: number): void {
    chosen = index;
    for (const [at, item] of [...list.children].entries()) item.setAttribute('aria-selected', String(at === index));
    const selected = list.children[index];
    if (selected) input.setAttribute('aria-activedescendant', selected.id);
    else input.removeAttribute('aria-activedescendant');
  }
  function open(): void {
    const item = list.children[chosen];
    if (!(item instanceof HTMLElement)) return;
    item.closest('dialog')?.close();
    location.assign(item.dataset.address ?? '');
  }
  function itemOf({ title, detail, address, text }: SearchEntry, index: number): HTMLElement {
    const item = make(
      'li',
      { role: 'option', id: `search-result-${index}`, 'data-address': address },
      make('b', {}, title),
      ' ',
      make('small', {}, detail),
      make('p', {}, ...excerptOf(text, input.value)),
    );
    item.addEventListener('mousemove', () => choose(index));
    item.addEventListener('click', open);
    return item;
  }
  return {
    list,
    open,
    show(entries) {
      list.replaceChildren(...entries.map(itemOf));
      list.hidden = entries.length === 0;
      choose(0);
    },
    move(step) {
      const count = list.children.length;
      if (count > 0) choose((chosen + step + count) % count);
      list.children[chosen]?.scrollIntoView({ block: 'nearest' });
    },
  };
}

function makeDialog(): HTMLDialogElement {
  const input = make('input', {
    type: 'search',
    role: 'combobox',
    placeholder: docsTexts.search,
    'aria-label': docsTexts.search,
    'aria-expanded': 'true',
    'aria-controls': 'search-results',
    autocomplete: 'off',
  });
  const results = makeResults(input);
  const note = make('p', { class: 'note', role: 'status' }, docsTexts.loading);
  const dialog = make('dialog', { 'aria-label': docsTexts.search }, input, results.list, note);
  let entries: readonly SearchEntry[] = [];
  const say = (text: string): void => {
    note.textContent = text;
    note.hidden = text === '';
  };
  const show = (): void => {
    const found = findEntries(entries, input.value);
    results.show(found);
    if (entries.length > 0) say(found.length === 0 && input.value.trim() !== '' ? docsTexts.nothing : '');
  };
  fetch('/docs/search.json')
    .then((response) => response.json() as Promise<SearchEntry[]>)
    .then((loaded) => {
      entries = loaded;
      show();
    })
    .catch(() => say(docsTexts.failed));
  input.addEventListener('input', show);
  input.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      results.move(step);
    } else if (event.key === 'Enter') results.open();
  });
  dialog.addEventListener('mousedown', (event) => {
    if (event.target === dialog) dialog.close();
  });
  results.show([]);
  document.body.append(dialog);
  return dialog;
}

export function addSearch(): void {
  const button = document.querySelector<HTMLButtonElement>('.search');
  if (!button) return;
  let dialog: HTMLDialogElement | undefined;
  const start = (): void => {
    dialog ??= makeDialog();
    dialog.showModal();
    dialog.querySelector('input')?.select();
  };
  button.hidden = false;
  button.addEventListener('click', start);
  addEventListener('keydown', (event) => {
    const isTyping = (event.target as Element).matches('input, textarea, select');
    const isWanted = (event.key === 'k' && (event.ctrlKey || event.metaKey)) || (event.key === '/' && !isTyping);
    if (!isWanted || dialog?.open) return;
    event.preventDefault();
    start();
  });
}
