import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { supportedVersions } from '../../server/http/versions/versions.ts';
import { document, documentOf } from '../support/openapi.ts';
import { here, run, startWorld } from './world.ts';

/** What comes from npm: validators, and the types of openapi-typescript. They are installed on first use, into this folder. */

const modules = join(here, 'node_modules');
const tool = (name: string): string => join(modules, '.bin', name);

async function install(): Promise<void> {
  const marker = join(modules, '.installed');
  const wanted = createHash('sha256')
    .update(readFileSync(join(here, 'package-lock.json')))
    .digest('hex');
  if (existsSync(marker) && readFileSync(marker, 'utf8') === wanted) return;
  await run('npm', ['ci', '--loglevel=error', '--no-audit', '--no-fund']);
  await writeFile(marker, wanted);
}

describe('the OpenAPI document', () => {
  let folder = '';
  before(async () => {
    await install();
    folder = await mkdtemp(join(tmpdir(), 'svc-openapi-'));
    for (const version of supportedVersions) {
      await writeFile(join(folder, `${version}.json`), JSON.stringify(documentOf(version)));
    }
  });
  after(() => rm(folder, { recursive: true, force: true }));

  for (const version of supportedVersions) {
    it(`of ${version} has neither errors nor warnings by the recommended rules of redocly`, async () => {
      const options = ['--format', 'json', '--max-problems', '1000', '--extends', 'recommended'];
      const env = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
      const text = await run(tool('redocly'), ['lint', ...options, `${version}.json`], { folder, env });
      const { problems, totals } = JSON.parse(text) as { problems: unknown[]; totals: unknown };
      assert.deepEqual(problems, []);
      assert.deepEqual(totals, { errors: 0, warnings: 0, ignored: 0 });
    });
  }

  it('is valid by the JSON Schema that OpenAPI 3.1 is defined by', async () => {
    const { Validator } = (await import(join(modules, '@seriousme', 'openapi-schema-validator', 'index.js'))) as {
      Validator: new () => { validate(text: object): Promise<{ valid: boolean; errors?: unknown }> };
    };
    for (const version of supportedVersions) {
      const { valid, errors } = await new Validator().validate(documentOf(version));
      assert.ok(valid, JSON.stringify(errors));
    }
  });

  it('gives openapi-typescript types that compile, and that fit every operation', async () => {
    const source = join(folder, 'latest.json');
    await writeFile(source, JSON.stringify(document));
    const target = join(here, 'typescript', 'dist', 'api.ts');
    // A field with a default need not be sent.
    await run(tool('openapi-typescript'), [source, '--default-non-nullable=false', '-o', target]);
    await run(join(here, '..', '..', 'node_modules', '.bin', 'tsc'), ['-p', 'typescript']);
    const world = await startWorld();
    try {
      await run(process.execPath, [join('typescript', 'calls.ts')], { env: world.env });
      world.checkAllCalled();
    } finally {
      await world.stop();
    }
  });
});
