import assert from 'node:assert/strict';
import { it } from 'node:test';
import { whileSlow } from './slow-database.ts';

it('a start that waits for its database says so once, and goes on', async () => {
  const lines: unknown[] = [];
  const log = { warn: (fields: object, text: string) => void lines.push([fields, text]) };
  let tries = 0;
  const started = await whileSlow(log as never, async () => {
    tries += 1;
    if (tries < 3) throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' });
    return 'started';
  });
  const text = 'the database does not answer yet; the start waits for it for a minute';
  assert.deepEqual([started, lines], ['started', [[{ problem: 'read ECONNRESET' }, text]]]);
});
