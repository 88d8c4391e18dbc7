import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAlarm } from './alarm.ts';

test('a pause until a time that has passed ends at once, without a warning', async () => {
  const warnings: string[] = [];
  const note = ({ name }: Error): void => void warnings.push(name);
  process.on('warning', note);
  await createAlarm().pause(-4.3);
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', note);
  assert.deepEqual(warnings, []);
});
