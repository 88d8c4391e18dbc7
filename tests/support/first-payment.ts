import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { checkout } from '../../server/customer-texts/languages/en/checkout.ts';
import { typeCard } from './hosted-pages.ts';

/** What a newcomer does outside of the dashboard: pays as a customer, and watches the events in a terminal. */

/** Pays as a customer does, and stays on the page that says so. */
export async function payAt(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await page.getByLabel(checkout.email, { exact: true }).fill('grace@example.com');
  await page.getByLabel(checkout.firstName, { exact: true }).fill('Grace');
  await page.getByLabel(checkout.lastName, { exact: true }).fill('Hopper');
  await page.getByLabel(checkout.phone, { exact: true }).fill('+15550102030');
  await typeCard(page.frameLocator('#card iframe'));
  await page.getByRole('button', { name: /^Pay/ }).click();
  await page.getByRole('heading', { name: checkout.paidTitle }).waitFor();
  const below = 'document.documentElement.scrollHeight - innerHeight';
  assert.equal(await page.evaluate(below), 0, 'a page that fits has no scroll bar');
}

/** Runs what was copied from the page in a shell, until it shows the event of what happens then. */
export async function seesEvents(commands: string, happens: () => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-listen-'));
  const shell = spawn('sh', ['-c', commands], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  try {
    let shown = '';
    const shows = (text: string): Promise<void> =>
      new Promise((resolve, reject) => {
        const look = (): void => void (shown.includes(text) && resolve());
        shell.stdout.on('data', (chunk) => {
          shown += String(chunk);
          look();
        });
        shell.stderr.on('data', (chunk) => void (shown += String(chunk)));
        const fail = (): void => reject(new Error(`${text} is missing: ${shown}`));
        shell.on('exit', fail);
        setTimeout(fail, 30_000).unref();
        look();
      });
    await shows('vents from');
    await happens();
    await shows('order.succeeded');
  } finally {
    if (shell.pid) process.kill(-shell.pid);
    await rm(folder, { recursive: true, force: true });
  }
}
