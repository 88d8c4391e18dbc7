import { readFileSync } from 'node:fs';
import { type Publisher, publisher } from '../server/publisher.ts';
import { version } from '../server/version.ts';

/**
 * What documents and manifests say about the publisher, from `server/publisher.json`. What it does not name is said in words, so that no reader follows a
 * dead link. `node scripts/reference.ts` writes them.
 */

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

/** Replaces what is between two marks of a Markdown file. */
function between(text: string, name: string, content: string): string {
  const [start, end] = [`<!-- ${name}, from server/publisher.json -->\n`, `\n<!-- end of ${name} -->`];
  const [from, to] = [text.indexOf(start) + start.length, text.indexOf(end)];
  if (from < start.length || to < from) throw new Error(`SECURITY.md has no part with the name ${name}.`);
  return text.slice(0, from) + content + text.slice(to);
}

const reportText = ({ security }: Pick<Publisher, 'security'>): string =>
  security
    ? `Please report vulnerabilities privately, not in a public issue: ${security}.`
    : 'Please report vulnerabilities privately, not in a public issue. The publisher of this copy has named no address for reports (`security` in\n' +
      '`server/publisher.json`): ask the person or company that gave it to you for one.';

const signatureText = ({ signing_key: key }: Pick<Publisher, 'signing_key'>): string =>
  key
    ? `The publisher signs \`SHA256SUMS\` with this key. [Check a release](docs/self-hosting.md#check-a-release) explains how to verify it:\n\n    ${key}`
    : 'The publisher of this copy has named no key (`signing_key` in `server/publisher.json`). If there is a `SHA256SUMS.sig`, get the key from the publisher, and see\n' +
      '[how to verify it](docs/self-hosting.md#check-a-release).';

export function securityPolicy(text: string, of: Publisher): string {
  return between(between(text, 'report', reportText(of)), 'signature', signatureText(of));
}

export function compose(text: string, { image }: Pick<Publisher, 'image'>): string {
  const origin = image
    ? 'Without `--build`, the published image is used.'
    : 'No image is published, so `--build` is needed the first time.';
  return text
    .replace(/^(#   docker compose up --build\n#\n)# .*\n/m, `$1# ${origin}\n`)
    .replace(/^ {4}image: \S*svc:\S+$/m, `    image: ${image ?? 'svc'}:${version}`);
}

export function kustomization(text: string, { image }: Pick<Publisher, 'image'>): string {
  return text.replace(/^( {2}- name: svc\n)(?: {4}newName: .*\n)?/m, image ? `$1    newName: ${image}\n` : '$1');
}

export const publisherFiles: Readonly<Record<string, () => string>> = {
  'SECURITY.md': () => securityPolicy(read('SECURITY.md'), publisher),
  'compose.yaml': () => compose(read('compose.yaml'), publisher),
  'deploy/kubernetes/kustomization.yaml': () => kustomization(read('deploy/kubernetes/kustomization.yaml'), publisher),
};
