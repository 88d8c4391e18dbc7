import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { auth } from '../../dashboard/src/texts/auth.ts';
import type { Person } from './dashboard.ts';

/** A page of the dashboard in a real browser, with a person signed in. */
export interface DashboardPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Errors of the code and violated policies. */
  readonly problems: readonly string[];
  readonly button: (name: string, within?: Page | Locator) => Locator;
  readonly field: (label: string, within?: Page | Locator) => Locator;
  readonly dialog: () => Locator;
  /** Chooses an option of a field with a list. */
  readonly choose: (label: string, text: string) => Promise<void>;
}

export async function openDashboardPage(browser: Browser, baseURL: string, person: Person): Promise<DashboardPage> {
  const context = await browser.newContext({ baseURL, locale: 'en-US', viewport: { width: 1280, height: 900 } });
  context.setDefaultTimeout(15_000);
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(`${page.url()}: ${error.message}`));
  page.on('console', (message) => {
    // The page itself shows a rejected call.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      problems.push(`${page.url()}: ${message.text()}`);
    }
  });
  const button = (name: string, within: Page | Locator = page): Locator =>
    within.getByRole('button', { name, exact: true });
  const field = (label: string, within: Page | Locator = page): Locator => within.getByLabel(label, { exact: true });
  await page.goto('/login');
  await field(auth.email).fill(person.email);
  await field(auth.password).fill(person.password);
  await button(auth.signIn).click();
  await page.waitForURL(/\/home/);
  return {
    page,
    context,
    problems,
    button,
    field,
    dialog: () => page.getByRole('dialog'),
    async choose(label, text) {
      await page.getByRole('combobox', { name: label }).fill(text);
      const option = page.getByRole('option', { name: new RegExp(text) });
      await option.first().click();
    },
  };
}
