import { join } from 'node:path';
import { deliveryOf } from './email-delivery.ts';
import type { Config } from './config.ts';
import type { Service } from './service.ts';
import { version } from './version.ts';

/** What the log says after a start, instead of the text for a person at a terminal. */
export function announcement(config: Config, { baseUrl, listensOn, demo }: Service, startedInMs: number): object {
  return {
    version,
    roles: config.SVC_ROLES,
    url: baseUrl,
    ...(listensOn && { listens_on: listensOn }),
    ...(demo && { demo: join(config.dataDir, 'demo.json') }),
    ...(demo?.isBeingFilled && { sample_data: 'being created' }),
    started_in_ms: Math.round(startedInMs),
  };
}

/** The text that a new user sees after `npm start`; for a process without the API, its role. */
export function welcome(
  config: Config,
  { baseUrl, listensOn, demo, signInUrl }: Omit<Service, 'isWell'>,
  startedInMs: number,
): string {
  const lines = [``, `  Ready in ${(startedInMs / 1000).toFixed(1)} s.`, ``];
  const roles = config.SVC_ROLES;
  if (roles.includes('worker') && !roles.includes('api')) lines.push(`  Worker          running`);
  if (roles.includes('vault') && !roles.includes('api')) lines.push(`  Vault           port ${config.SVC_VAULT_PORT}`);
  if (!roles.includes('api')) return `${lines.join('\n')}\n\n`;
  if (signInUrl) lines.push(`  Sign in         ${signInUrl}   (works once, within an hour)`);
  lines.push(`  API             ${baseUrl}/v1`);
  // Behind a proxy the public URL does not show where to forward requests.
  if (config.SVC_BASE_URL) lines.push(`  Listens on      ${listensOn}`);
  if (demo) lines.push(`  Dashboard       ${baseUrl}/   (${demo.email}, password ${demo.password})`);
  else lines.push(`  Dashboard       ${baseUrl}/`);
  lines.push(`  Guides          ${baseUrl}/docs`, `  API reference   ${baseUrl}/docs/api`);
  if (deliveryOf(config) === 'mailbox') lines.push(`  Emails          ${baseUrl}/mailbox   (no mail server is set)`);
  if (demo?.checkout_url) lines.push(`  Demo checkout   ${demo.checkout_url}`);
  if (demo?.isBeingFilled) lines.push(`  Sample data     90 days of it, ready in less than a minute`);
  if (demo) {
    lines.push(
      `  Secret key      ${demo.secret_key}`,
      `  Publishable key ${demo.publishable_key}`,
      `                  (sandbox keys of the demo company; also in demo.json in the data folder)`,
      ``,
      `  Try it:`,
      ``,
      `  curl ${baseUrl}/v1/products -H 'Authorization: Bearer ${demo.secret_key}'`,
    );
  }
  return `${lines.join('\n')}\n\n`;
}
