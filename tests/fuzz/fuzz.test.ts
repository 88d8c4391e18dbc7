import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rounds } from '../support/random.ts';
import { fuzz } from './own.ts';
import { operations } from './requests.ts';
import { startTarget } from './target.ts';
import { isError, logLine } from '../support/log-lines.ts';

/** A short run of what `npm run fuzz` does at length. */

const seed = Number(process.env.SVC_FUZZ_SEED ?? 1);

test('requests made by chance from the document are all answered as it says, and none with a 5xx', async () => {
  const target = await startTarget();
  try {
    const { findings, called, succeeded } = await fuzz(target, { requests: rounds(1_200), seed });
    assert.deepEqual(findings, [], `seed ${seed}`);
    assert.equal(called.size, operations.length);
    // Most of what is sent reaches the work behind the checks.
    assert.ok(succeeded.size > operations.length / 2, `${succeeded.size} of ${operations.length} operations succeeded`);
    const failed = target.service.logLines.filter((line) => isError(logLine(line)));
    assert.deepEqual(failed, []);
  } finally {
    await target.service.stop();
  }
});
