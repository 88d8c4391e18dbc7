import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { version } from '../../server/version.ts';
import { isCommand, run } from '../generators/world.ts';
import { startTestService } from '../support/service.ts';
import { startDriver } from './driver.ts';
import { playAll } from './stage.ts';

/** The Go SDK is free of findings, and plays every scenario. */

const sdk = fileURLToPath(new URL('../../sdk/go/', import.meta.url));

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

if (await isCommand('go', 'version')) {
  test('the Go SDK is formatted and go vet finds nothing', async () => {
    await run('go', ['vet', './...'], { folder: sdk });
    const unformatted = await run('gofmt', ['-l', '.'], { folder: sdk });
    if (unformatted !== '') throw new Error(`run gofmt -w: ${unformatted}`);
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

  playAll(async () => {
    const driver = join(await mkdtemp(join(tmpdir(), 'svc-go-')), 'driver');
    await run('go', ['build', '-o', driver, './internal/driver'], { folder: sdk });
    return startDriver('Go', driver, []);
  });
} else {
  process.stdout.write('Go is not here, so its SDK is not tested.\n');
}
