import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

/** axe in a page and its frames, with only what the tests read: its results have an entry for each element of the page. */

const source = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

const wcag = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'];
/** The rules whose result depends on what a small screen shows: names that are hidden, what can be scrolled and pressed. */
const phone = {
  type: 'rule',
  values: [
    ...['link-name', 'button-name', 'image-alt', 'label', 'select-name', 'scrollable-region-focusable'],
    ...['aria-hidden-focus', 'nested-interactive', 'heading-order'],
  ],
};
/** The rules whose result depends on the theme. */
const colors = { type: 'rule', values: ['color-contrast', 'link-in-text-block'] };

export interface AxeOptions {
  /** Some of the rules, for the page without its frames. By default all of them, also in the frames. */
  readonly rules?: 'wcag' | 'colors' | 'phone';
  /** JavaScript of the part of the page; the whole page by default. */
  readonly part?: string;
}

/** Makes axe available in the page, and in its frames if axe has to look into them. */
async function loadInto(page: Page, isWithFrames: boolean): Promise<void> {
  for (const frame of isWithFrames ? page.frames() : [page.mainFrame()]) {
    if (await frame.evaluate("typeof axe === 'object'")) continue;
    await frame.evaluate(source);
    await frame.evaluate("axe.configure({ allowedOrigins: ['<unsafe_all_origins>'] })");
  }
}

/** Returns what axe finds to mend. */
export async function violationsIn(page: Page, { rules, part = 'document' }: AxeOptions = {}): Promise<string[]> {
  await loadInto(page, !rules);
  const options = {
    resultTypes: ['violations'],
    iframes: !rules,
    ...(rules && { runOnly: { wcag, colors, phone: process.env.SVC_AXE === 'all' ? wcag : phone }[rules] }),
  };
  return page.evaluate<string[]>(
    `axe.run(${part}, ${JSON.stringify(options)}).then(({ violations }) => violations.map(({ id, nodes }) =>
      id + ': ' + nodes.map(({ html }) => html).join(' ')))`,
  );
}

/** Whether axe looks at an element in a frame. */
export async function looksAt(page: Page, selector: string): Promise<boolean> {
  await loadInto(page, true);
  const run = `axe.run(document, { runOnly: { type: 'rule', values: ['label'] } })`;
  return page.evaluate<boolean>(`${run}.then(({ passes }) => JSON.stringify(passes).includes('${selector}'))`);
}
