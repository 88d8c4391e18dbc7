import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { isCommand, run } from '../generators/world.ts';
import { startDriver } from './driver.ts';
import { playAll } from './stage.ts';

/** The Go SDK is free of findings, and plays every scenario. */

const sdk = fileURLToPath(new URL('../../sdk/go/', import.meta.url));

if (await isCommand('go', 'version')) {
  test('the Go SDK is formatted and go vet finds nothing', async () => {
    await run('go', ['vet', './...'], { folder: sdk });
    const unformatted = await run('gofmt', ['-l', '.'], { folder: sdk });
    if (unformatted !== '') throw new Error(`run gofmt -w: ${unformatted}`);
  });

  playAll(async () => {
    const program = join(await mkdtemp(join(tmpdir(), 'svc-go-')), 'driver');
    await run('go', ['build', '-o', program, './internal/driver'], { folder: sdk });
    return startDriver('Go', program, []);
  });
} else {
  process.stdout.write('Go is not here, so its SDK is not tested.\n');
}
