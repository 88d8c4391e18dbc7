import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { errorCatalogue } from '../../server/errors.ts';
import { outdatedFiles } from './generate.ts';
import { operations } from './src/generated/operations.ts';

describe('the generated part of the SDK', () => {
  it('matches the OpenAPI document', () => {
    assert.deepEqual(outdatedFiles(), [], 'run: node sdk/node/generate.ts');
  });

  it('sends an idempotency key with every write', () => {
    const withoutKey = Object.entries(operations)
      .filter(([, { method, keyed }]) => keyed !== (method !== 'GET'))
      .map(([name]) => name);
    // Previews. They are POST because of their bodies, which do not appear in logs.
    assert.deepEqual(withoutKey, ['validateCoupon', 'previewPlanChange']);
  });

  it('has every error code', () => {
    const text = readFileSync(new URL('src/generated/errors.ts', import.meta.url), 'utf8');
    const [union = ''] = /export type ErrorCode =[^;]*/.exec(text) ?? [];
    const known = [...union.matchAll(/'(\w+)'/g)].map((match) => match[1] ?? '');
    assert.deepEqual(known, Object.keys(errorCatalogue));
  });
});
