import assert from 'node:assert/strict';
import axe, { type AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

const wide = { width: 1280, height: 900 };

/** Checks the page that is open: axe finds nothing to mend, and the page fits on a phone. */
export async function inspect(page: Page, name: string): Promise<void> {
  await page.setViewportSize(wide);
  await page.waitForLoadState('networkidle');
  await page.evaluate(axe.source);
  const results = await page.evaluate<AxeResults>('axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"] })');
  const found = results.violations.map(({ id, nodes }) => `${name} ${id}: ${nodes.map(({ html }) => html).join(' ')}`);
  assert.deepEqual(found, []);
  await page.setViewportSize({ width: 360, height: 740 });
  // A chart is drawn again for its new width in the next frames.
  await page
    .waitForFunction('document.documentElement.scrollWidth <= document.documentElement.clientWidth', undefined, {
      timeout: 3_000,
    })
    .catch(() => assert.fail(`${name} is wider than a phone`));
  await page.setViewportSize(wide);
}
