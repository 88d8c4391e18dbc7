import type { Browser } from 'playwright-core';
import { launchBrowser } from '../tests/support/browser.ts';
import { median } from './compare.ts';
import { seedLists } from './list-data.ts';
import { signUp } from './visitor.ts';
import type { Bench, Report, Workload } from './workload.ts';

/**
 * `npm run bench pages -- --rows 100000`: how long a merchant waits for a page of the dashboard, from an empty cache to what they came for: the
 * first row of the list, the line of the chart. Once as on this machine, and once with slow 4G and a processor that is four times as slow.
 */

const rounds = 5;
const summedWithinMs = 90_000;
const slow4g = { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 93_750 };
const slowdown = 4;

interface Case {
  readonly name: string;
  readonly path: string;
  readonly shown: string;
  readonly isSlow: boolean;
  readonly targetMs: number;
}

const row = 'tbody tr.linked';
const line = '#content svg.block path[stroke-width="2"]';
const cases: readonly Case[] = [
  { name: 'orders', path: '/orders', shown: row, isSlow: false, targetMs: 600 },
  { name: 'customers', path: '/customers', shown: row, isSlow: false, targetMs: 600 },
  { name: 'transactions', path: '/transactions', shown: row, isSlow: false, targetMs: 600 },
  { name: 'Home', path: '/home', shown: line, isSlow: false, targetMs: 1_500 },
  { name: 'orders, slow 4G and 4× CPU', path: '/orders', shown: row, isSlow: true, targetMs: 4_000 },
];

interface Measured {
  readonly ms: number;
  readonly bytes: number;
}

/** The page itself notes the time since the start of its navigation: Playwright looks only twice a second after a while. */
const noteWhenShown = (selector: string): string => `
  const look = () => {
    if (document.querySelector(${JSON.stringify(selector)})) window.shownAtMs ??= performance.now();
    else requestAnimationFrame(look);
  };
  look();`;

/** A new browser context has an empty cache. */
async function load(
  browser: Browser,
  baseURL: string,
  cookie: string,
  { path, shown, isSlow }: Case,
): Promise<Measured> {
  const context = await browser.newContext({ baseURL, viewport: { width: 1440, height: 900 }, locale: 'en-US' });
  const [name = '', value = ''] = cookie.split('=');
  await context.addCookies([{ name, value, url: baseURL }]);
  const page = await context.newPage();
  const network = await context.newCDPSession(page);
  await network.send('Network.enable');
  let bytes = 0;
  network.on('Network.loadingFinished', ({ encodedDataLength }) => void (bytes += encodedDataLength));
  if (isSlow) {
    await network.send('Network.emulateNetworkConditions', slow4g);
    await network.send('Emulation.setCPUThrottlingRate', { rate: slowdown });
  }
  await page.addInitScript(noteWhenShown(shown));
  await page.goto(path, { waitUntil: 'commit' });
  await page.locator(shown).first().waitFor();
  const ms = await page.evaluate<number>('window.shownAtMs');
  await page.waitForLoadState('networkidle');
  await context.close();
  return { ms, bytes };
}

/** The worker sums the days again from the first one: they were over before the orders were seeded. */
async function figuresReady({ environment: { sql } }: Bench, companyId: string): Promise<void> {
  const endMs = performance.now() + summedWithinMs;
  await sql.query(`UPDATE figure_states SET zone = '', due_at = now() WHERE company_id = $1`, [companyId]);
  for (;;) {
    const { rows } = await sql.query<{ ready: boolean }>(
      `SELECT zone <> '' AND days_until >= date_trunc('day', now()) AND NOT EXISTS (SELECT 1 FROM figure_days d
         WHERE d.company_id = s.company_id AND d.figures IS NULL) AS ready FROM figure_states s WHERE company_id = $1`,
      [companyId],
    );
    if (rows[0]?.ready) return;
    if (performance.now() > endMs) throw new Error('The worker has not summed the days of the year.');
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function run(bench: Bench): Promise<Report> {
  const { environment, options, note } = bench;
  const server = await environment.startService('api', { settings: { SVC_ROLES: 'api,worker,vault' } });
  const { companyId, cookie } = await signUp(server.baseUrl);
  await seedLists({ ...environment, companyId }, options.rows, note);
  await figuresReady(bench, companyId);
  note('days of the year summed');
  const browser = await launchBrowser();
  const results: { readonly one: Case; readonly ms: readonly number[]; readonly bytes: number }[] = [];
  try {
    for (const one of cases.filter(({ name }) => options.only.test(name))) {
      // The first visitor of a service waits for what the service reads once.
      await load(browser, server.baseUrl, cookie, one);
      const measured: Measured[] = [];
      for (let round = 0; round < rounds; round += 1) measured.push(await load(browser, server.baseUrl, cookie, one));
      results.push({ one, ms: measured.map(({ ms }) => ms), bytes: median(measured.map(({ bytes }) => bytes)) });
    }
  } finally {
    await browser.close();
    await server.stop();
  }
  return {
    tables: [
      {
        title: `Pages with ${options.rows} orders, empty cache`,
        columns: ['page', 'median ms', 'slowest ms', 'kB on the wire'],
        rows: results.map(({ one, ms, bytes }) => [
          one.name,
          ...[median(ms), Math.max(...ms), bytes / 1000].map((value) => value.toFixed(0)),
        ]),
      },
    ],
    targets: results.map(({ one: { name, targetMs }, ms }) => ({
      name: `${name}, median`,
      wanted: `≤ ${targetMs} ms`,
      measured: `${median(ms).toFixed(0)} ms`,
      met: median(ms) <= targetMs,
    })),
  };
}

export const workload: Workload = { module: import.meta.url, requests: {}, run };
