import type { Service } from './service.ts';

/** What a newcomer sees after `npm start`. */
export function welcome({ baseUrl, demo }: Service, startedInMs: number): string {
  const lines = [``, `  Ready in ${(startedInMs / 1000).toFixed(1)} s.`, ``, `  API             ${baseUrl}/v1`];
  if (demo) lines.push(`  Dashboard       ${baseUrl}/   (${demo.email}, password ${demo.password})`);
  lines.push(`  Guides          ${baseUrl}/docs`, `  API reference   ${baseUrl}/docs/api`);
  if (demo) lines.push(`  Demo checkout   ${baseUrl}/demo/checkout`);
  if (demo) {
    lines.push(
      `  Secret key      ${demo.secret_key}`,
      `  Publishable key ${demo.publishable_key}`,
      `                  (sandbox keys of the demo company; also in demo.json of the data folder)`,
      ``,
      `  Try it:`,
      ``,
      `  curl ${baseUrl}/v1/products -H 'Authorization: Bearer ${demo.secret_key}'`,
    );
  }
  return `${lines.join('\n')}\n\n`;
}
