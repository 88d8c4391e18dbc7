import { all, make } from './elements.ts';
import { sampleToCopy } from './own-samples.ts';
import { docsTexts } from './texts.ts';

/** What helps to read a page: copy buttons, tabs of samples, the theme, the menu of phones, the place in the contents. */

const copiedMs = 1600;

export function addCopyButtons(within: ParentNode): void {
  for (const button of all<HTMLButtonElement>('.copy', within)) {
    button.hidden = false;
    button.addEventListener('click', () => {
      const block = button.closest('.code')?.querySelector('code') ?? null;
      const copied = sampleToCopy(block).then((text) => navigator.clipboard.writeText(text));
      void copied.then(() => {
        button.textContent = docsTexts.copied;
        setTimeout(() => {
          button.textContent = docsTexts.copy;
        }, copiedMs);
      });
    });
  }
}

const languageStorage = 'svc.language';

/** Makes tabs of samples. A choice applies to all samples of the page and is kept. */
export function addTabs(): void {
  const groups = all('.tabs').map((group) => {
    const panels = all('[data-tab]', group);
    const list = make('div', { role: 'tablist', 'aria-label': docsTexts.languages });
    const tabs = panels.map((panel) => {
      const tab = make('button', { type: 'button', role: 'tab' }, panel.dataset.tab ?? '');
      tab.addEventListener('click', () => choose(panel.dataset.tab ?? ''));
      tab.addEventListener('keydown', (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (step === undefined) return;
        const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
        next?.click();
        next?.focus();
      });
      return tab;
    });
    list.append(...tabs);
    return { list, tabs, panels };
  });
  function choose(name: string): void {
    localStorage.setItem(languageStorage, name);
    for (const group of groups) show(group, name);
  }
  function show({ list, tabs, panels }: (typeof groups)[number], name: string): void {
    const wanted = Math.max(
      panels.findIndex((panel) => panel.dataset.tab === name),
      0,
    );
    for (const [index, panel] of panels.entries()) {
      const isShown = index === wanted;
      panel.hidden = !isShown;
      tabs[index]?.setAttribute('aria-selected', String(isShown));
      tabs[index]?.setAttribute('tabindex', isShown ? '0' : '-1');
      // The list of tabs stands in the place of the title of the code that is shown.
      if (isShown) panel.querySelector('figcaption > :first-child')?.replaceWith(list);
    }
  }
  const kept = localStorage.getItem(languageStorage) ?? '';
  for (const group of groups) show(group, kept);
}

export function addThemeButton(): void {
  const button = document.querySelector<HTMLButtonElement>('.theme');
  if (!button) return;
  const root = document.documentElement;
  const isDark = (): boolean =>
    (root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  const label = (): void => {
    button.textContent = isDark() ? docsTexts.light : docsTexts.dark;
  };
  button.hidden = false;
  button.addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    localStorage.setItem('svc.theme', root.dataset.theme);
    label();
  });
  label();
}

/** Without a script, the link leads to the navigation at the end of the page. */
export function addMenu(): void {
  const rail = document.querySelector('.rail');
  document.querySelector('.menu')?.addEventListener('click', (event) => {
    event.preventDefault();
    rail?.classList.toggle('open');
  });
  rail?.addEventListener('click', (event) => {
    if ((event.target as Element).closest('a')) rail.classList.remove('open');
  });
}

/** Marks the section that is being read in the contents of the page. */
export function followReading(): void {
  const links = all<HTMLAnchorElement>('.contents a');
  const targets = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
  const mark = (): void => {
    const top = innerHeight * 0.3;
    const last = targets.findLastIndex((target) => target && target.getBoundingClientRect().top < top);
    for (const [index, link] of links.entries()) {
      if (index === last) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
  };
  if (links.length === 0) return;
  addEventListener('scroll', mark, { passive: true });
  mark();
}
