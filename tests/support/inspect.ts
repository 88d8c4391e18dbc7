import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import { violationsIn } from './axe.ts';

const wide = { width: 1440, height: 900 };
const phone = { width: 390, height: 844 };
/** A second look with axe takes as long as the first. CI takes it. */
const isThorough = process.env.SVC_AXE !== undefined;

/** Waits until an expression is true in the page. Playwright's own waiting evaluates text there, which our policy forbids. */
async function becomesTrue(page: Page, expression: string, patienceMs = 20_000): Promise<boolean> {
  const deadlineMs = performance.now() + patienceMs;
  while (performance.now() < deadlineMs) {
    // A navigation in between ends the evaluation, not the waiting.
    if (await page.evaluate<boolean>(expression).catch(() => false)) return true;
    await page.waitForTimeout(50);
  }
  return false;
}

const showsItsData = `document.readyState === 'complete' && document.querySelector('h1, h2') !== null &&
  !document.querySelector('.skeleton, [aria-busy="true"]')`;

/**
 * Waits until the page shows its data: nothing is marked as loading, in two looks a tenth of a second apart, because one
 * answer can lead to the next request.
 */
export async function loaded(page: Page): Promise<void> {
  do {
    assert.ok(await becomesTrue(page, showsItsData), `${page.url()} still loads`);
    await page.waitForTimeout(100);
  } while (!(await becomesTrue(page, showsItsData, 1)));
}

/** Checks the page that is open: axe finds nothing to mend, and the page fits on the smallest phone. */
export async function inspect(page: Page, name: string, rules: 'wcag' | 'colors' = 'wcag'): Promise<void> {
  await page.setViewportSize(wide);
  await loaded(page);
  assert.deepEqual(await violationsIn(page, { rules }), [], name);
  if (isThorough) {
    await page.setViewportSize(phone);
    assert.deepEqual(await violationsIn(page, { rules: 'phone' }), [], `${name} on a phone`);
  }
  await page.setViewportSize({ width: 320, height: 640 });
  // A chart is drawn again for its new width in the next frames.
  const fits = 'document.documentElement.scrollWidth <= document.documentElement.clientWidth';
  assert.ok(await becomesTrue(page, fits, 3_000), `${name} is wider than a phone`);
  await page.setViewportSize(wide);
}
