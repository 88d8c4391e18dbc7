import { publishedNames } from '../../package-names.ts';
import { packagesTable } from '../sdk.ts';
import { type Group, readGuide } from './guide-pages.ts';

/** The guides as an installation shows them: with its own address and the names of its packages, for readers who have nothing else of it. */

/** The address of a service on the reader's machine, which the guides in the repository name. */
const ownMachine = 'http://127.0.0.1:8080';
/** Other guides are for operators, who read there what the default of an address is. */
const forMerchants = new Set(['Get started', 'Payments', 'Customers and team', 'Build your integration', 'Reference']);

export const merchantGuides = (groups: readonly Group[]): string[] =>
  groups.filter(({ title }) => forMerchants.has(title)).flatMap(({ entries }) => entries.map(({ path }) => path));

export type ReadGuide = (file: string) => string;

export function guideTexts(baseUrl: string, groups: readonly Group[]): ReadGuide {
  const named = new Set(merchantGuides(groups).map((path) => `${path}.md`));
  return (file) => {
    const text = readGuide(file);
    if (!named.has(file)) return text;
    return publishedNames(text)
      .replaceAll(ownMachine, baseUrl)
      .replace('<!-- packages -->', () => packagesTable(baseUrl));
  };
}
