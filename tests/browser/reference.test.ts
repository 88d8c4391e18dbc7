import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { launchBrowser } from '../support/browser.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let browser: Browser;
before(async () => {
  [service, browser] = await Promise.all([startTestService(), launchBrowser()]);
});
after(async () => {
  await browser.close();
  await service.stop();
});

test('the API reference works under its policy, which lets no inline script run', async () => {
  const page = await browser.newPage();
  const problems: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  page.on('pageerror', (error) => problems.push(error.message));
  await page.goto(`${service.baseUrl}/docs/api`);
  await page.getByText('Create a customer').first().waitFor({ timeout: 60_000 });
  if (process.env.SVC_SCREENSHOTS) await page.screenshot({ path: `${process.env.SVC_SCREENSHOTS}/reference.png` });
  assert.deepEqual(problems, []);
  for (const word of ['Ask AI', 'Generate MCP', 'Deploy']) assert.equal(await page.getByText(word).count(), 0, word);
  const inject = `const script = document.createElement('script');
    script.textContent = 'window.injected = true';
    document.body.append(script);
    'injected' in window`;
  assert.equal(await page.evaluate(inject), false);
  assert.match(problems.join(), /Content Security Policy/);
});
