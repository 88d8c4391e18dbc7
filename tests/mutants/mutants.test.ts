import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { listMutants } from './list.ts';
import { nameOf } from './mutant.ts';
import { readResults } from './results.ts';
import { blanked, conditionsOf, termsOf } from './sql-text.ts';

/** `npm run mutants` takes out each rule; here only that its list is complete. */

const names = (await listMutants()).map((mutant) => nameOf(mutant));

describe('the list of rules that are taken out', () => {
  it('names each rule once', () => {
    assert.deepEqual(
      names.filter((name, index) => names.indexOf(name) !== index),
      [],
    );
  });

  it('is that of the schema and of the sources: run npm run mutants -- --changed', () => {
    const recorded = [...readResults().keys()];
    assert.deepEqual(
      [...names.filter((name) => !recorded.includes(name)), ...recorded.filter((name) => !names.includes(name))],
      [],
    );
  });

  it('has a test that finds each missing rule, or says why there is none', () => {
    const missing = [...readResults()].filter(([, result]) => result === undefined).map(([name]) => name);
    assert.deepEqual(missing, []);
  });
});

describe('SQL is taken apart', () => {
  const terms = (text: string): string[] => {
    const blank = blanked(text, []);
    return conditionsOf(blank).flatMap((condition) =>
      termsOf(blank, condition).map(
        ({ start, end, without }) => `${text.slice(start, end)}${without ? '' : ' (never)'}`,
      ),
    );
  };

  it('at the ANDs of each WHERE, and at the ORs in parentheses', () => {
    assert.deepEqual(
      terms(`UPDATE t SET a = CASE WHEN b AND c THEN 1 END WHERE d = 'x AND y' AND (e OR f) AND g IN (
        SELECT 1 FROM h WHERE i AND j LIMIT 1) RETURNING k`),
      [
        `d = 'x AND y'`,
        '(e OR f)',
        'e (never)',
        'f (never)',
        'g IN (\n        SELECT 1 FROM h WHERE i AND j LIMIT 1)',
        'i',
        'j',
      ],
    );
  });

  it('also where a text is a condition or a part of one', () => {
    assert.deepEqual(terms('a = $1 AND b = $2'), ['a = $1', 'b = $2']);
    assert.deepEqual(terms(' AND a < b'), ['a < b']);
    assert.deepEqual(terms('SELECT a FROM b WHERE c OR d'), ['c (never)', 'd (never)']);
  });
});
