import type { Page, Route } from 'playwright-core';

/** How much a page moves while it loads: the sum of all layout shifts, as browsers measure it. */

const observer = `
  globalThis.shifts = [];
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.hadRecentInput) continue;
      const moved = entry.sources.map(({ node, previousRect, currentRect }) => {
        const name = node?.nodeType === 1 ? node.outerHTML.slice(0, 90) : String(node?.textContent).slice(0, 60);
        return name + ' ' + [previousRect, currentRect].map(({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(' ')).join(' -> ');
      });
      globalThis.shifts.push({ value: entry.value, moved });
    }
  }).observe({ type: 'layout-shift', buffered: true });`;

interface Shift {
  readonly value: number;
  readonly moved: readonly string[];
}

/** Two frames, after which what was drawn is on the screen. */
const drawn = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))';

/**
 * Measures all pages that are opened from now on. Data and fonts arrive one after the other, each after the page has been drawn
 * without it, as on a slow connection.
 */
export async function watchShifts(page: Page, late: readonly string[]): Promise<void> {
  await page.addInitScript(observer);
  let turn: Promise<unknown> = Promise.resolve();
  const answer = async (route: Route): Promise<void> => {
    await page.evaluate(drawn);
    await route.fulfill({ response: await route.fetch() });
  };
  for (const url of late) {
    await page.route(url, (route) => {
      // A page that is left aborts its requests.
      turn = turn.then(() => answer(route)).catch(() => undefined);
      return turn;
    });
  }
}

export async function shiftsOf(page: Page): Promise<{ readonly sum: number; readonly shifts: readonly Shift[] }> {
  await page.evaluate(drawn);
  const shifts = await page.evaluate<Shift[]>('globalThis.shifts');
  return { sum: shifts.reduce((sum, { value }) => sum + value, 0), shifts };
}
