import { createHash } from 'node:crypto';
import type { ShippedPackage } from './packages.ts';

/** What a bill is about: the service, its image, or a package for merchants. */
export interface Subject {
  readonly type: 'application' | 'container' | 'library';
  readonly name: string;
  readonly version: string;
}

/** A part that is no npm package of the lockfile. */
export interface OtherPart {
  readonly type: 'application' | 'container' | 'platform';
  readonly name: string;
  readonly version: string;
  readonly purl: string;
}

/** The software bill of materials of a release, as CycloneDX 1.6. It depends on nothing but its arguments. */
export function billOfMaterials(
  { type, name, version }: Subject,
  packages: readonly ShippedPackage[],
  secondsSinceEpoch: number,
  others: readonly OtherPart[] = [],
): string {
  const subject = { type, name, version, 'bom-ref': `${name}@${version}` };
  const components = [...packages.map(component), ...others.map((part) => ({ ...part, 'bom-ref': part.purl }))];
  const identity = createHash('sha256')
    .update(JSON.stringify([subject, components]))
    .digest('hex');
  const bom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${uuidOf(identity)}`,
    version: 1,
    metadata: {
      timestamp: new Date(secondsSinceEpoch * 1000).toISOString(),
      component: { ...subject, licenses: [{ license: { id: 'Apache-2.0' } }] },
    },
    components,
    dependencies: [{ ref: subject['bom-ref'], dependsOn: components.map((each) => each['bom-ref']) }],
  };
  return `${JSON.stringify(bom, null, 2)}\n`;
}

function component({ name, version, license, integrity }: ShippedPackage) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`;
  const isExpression = /[ (]/.test(license);
  return {
    type: 'library',
    'bom-ref': purl,
    name,
    version,
    hashes: [{ alg: 'SHA-512', content: Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex') }],
    licenses: [isExpression ? { expression: license } : { license: { id: license } }],
    purl,
  };
}

/** A UUID of version 8, in which the content is free. */
function uuidOf(hex: string): string {
  const variant = ((Number.parseInt(hex[16] ?? '0', 16) & 3) | 8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    variant + hex.slice(17, 20),
    hex.slice(20, 32),
  ].join('-');
}
