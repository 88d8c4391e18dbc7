import type { Files, Group } from './guide-pages.ts';

/** The guides as markdown, for programs that read them: each at its address with `.md`, and `/llms.txt`, which lists them. */

/** After the language, the first line of a sample says what the tests do with it. */
const forTests = /^(```\w+) [^\n]+$/gm;

export const plainGuide = (text: string): string => text.replace(forTests, '$1');

export function guideList(brandName: string, baseUrl: string, groups: readonly Group[], files: Files): string {
  const lists = groups.map(({ title, entries }) => {
    const guides = entries.map(
      ({ path, title: name, about }) => `- [${name}](${baseUrl}/docs/${files.get(path)}): ${about}`,
    );
    return `## ${title}\n\n${guides.join('\n')}\n`;
  });
  return `# ${brandName}

> A payments API: customers, cards, products, orders, refunds, disputes, subscriptions, coupons, checkout pages, webhooks.

- API base URL: ${baseUrl}
- [OpenAPI document](${baseUrl}/openapi.json): every call, field and error
- [Sections of the guides](${baseUrl}/docs/search.json): all of them as JSON, with title, address and text

${lists.join('\n')}`;
}
