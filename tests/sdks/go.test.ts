import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { version } from '../../server/version.ts';
import { run, toolsFolder } from '../generators/world.ts';
import { startTestService } from '../support/service.ts';
import { startDriver } from './driver.ts';
import { goProgram, hasGo, mayInstall } from './present.ts';
import { goFiles, goParts } from './samples.ts';
import { playAll } from './stage.ts';

/** The Go SDK is free of findings, and plays every scenario. */

const sdk = fileURLToPath(new URL('../../sdk/go/', import.meta.url));

/** With the SDK in the sources. Ranges over functions need this version of the language. */
const moduleWith = (name: string): string =>
  `module ${name}\n\ngo 1.23\n\nrequire svc-payments.internal/go v0.0.0\n\nreplace svc-payments.internal/go => ${sdk}\n`;

const program = `package main

import (
	"context"
	"fmt"
	"os"

	svc "svc-payments.internal/go"
)

func main() {
	client, err := svc.New(os.Getenv("SVC_KEY"), os.Getenv("SVC_URL"))
	if err != nil {
		panic(err)
	}
	page, err := client.Orders.List(context.Background(), nil).Page()
	if err != nil {
		panic(err)
	}
	fmt.Println(len(page.Data), "orders")
}
`;

const staticcheckVersion = 'v0.8.2';
const staticcheck = join(toolsFolder, `staticcheck-${staticcheckVersion}`, 'staticcheck');

async function installStaticcheck(): Promise<void> {
  if (existsSync(staticcheck) || !mayInstall) return;
  const env = { GOBIN: dirname(staticcheck) };
  await run('go', ['install', `honnef.co/go/tools/cmd/staticcheck@${staticcheckVersion}`], { env });
}

if (await hasGo()) {
  await installStaticcheck();
  test('the Go SDK is formatted and go vet finds nothing', async () => {
    await run('go', ['vet', './...'], { folder: sdk });
    const unformatted = await run('gofmt', ['-l', '.'], { folder: sdk });
    if (unformatted !== '') throw new Error(`run gofmt -w: ${unformatted}`);
  });

  test('staticcheck finds nothing either', {
    skip: !existsSync(staticcheck) && 'npm run sdks installs it',
  }, async () => {
    await run(staticcheck, ['./...'], { folder: sdk });
  });

  test('every Go sample of the API reference is a formatted program that go vet accepts, as readers copy it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-go-samples-'));
    try {
      const files = goFiles();
      for (const [name, code] of files) await writeFile(join(folder, name), code);
      await writeFile(join(folder, 'go.mod'), moduleWith('samples'));
      await run('go', ['vet', '.'], { folder, env: { GOTOOLCHAIN: 'local' } });
      assert.equal(await run('gofmt', ['-l', '.'], { folder }), '');
      process.stdout.write(`${files.size} Go samples of the API reference\n`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test('the Go samples of the guides are formatted', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-go-parts-'));
    try {
      await writeFile(join(folder, 'parts.go'), goParts());
      assert.equal(await run('gofmt', ['-d', 'parts.go'], { folder }), '');
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  test('a new module gets the Go SDK from the proxy of an installation, and calls it', async () => {
    const service = await startTestService();
    const folder = await mkdtemp(join(tmpdir(), 'svc-go-module-'));
    const env = {
      GOPROXY: `${service.baseUrl}/sdk/go`,
      GONOSUMDB: 'svc-payments.internal',
      GOPATH: join(folder, 'path'),
      GOFLAGS: '-modcacherw',
      GOTOOLCHAIN: 'local',
      SVC_URL: service.baseUrl,
      SVC_KEY: service.key,
    };
    try {
      await writeFile(join(folder, 'main.go'), program);
      await run('go', ['mod', 'init', 'example.com/shop'], { folder, env });
      await run('go', ['get', `svc-payments.internal/go@v${version}`], { folder, env });
      assert.equal(await run('go', ['run', '.'], { folder, env }), '0 orders\n');
    } finally {
      await service.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });

  playAll(async () => startDriver('Go', (await goProgram()).program, []));
} else {
  process.stdout.write('Go is not here, so its SDK is not tested.\n');
}
