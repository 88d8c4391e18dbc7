import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { format, inspect } from 'node:util';
import { createLog } from '../platform/log.ts';
import { CardNumber } from './card-number.ts';
import { someNumber } from './testing.ts';

describe('a card number in memory', () => {
  const digits = someNumber();
  const number = new CardNumber(digits);
  const holder = { card: number, list: [number], map: new Map([[number, number]]), nested: { deep: { number } } };

  const waysToPrint: Record<string, () => unknown> = {
    String: () => String(number),
    'a template': () => `${number}`,
    'addition to a string': () => `${['', number].join('')}${number as unknown as string}`,
    'JSON.stringify': () => JSON.stringify([number, holder]),
    'util.inspect': () => inspect(holder, { depth: null, showHidden: true, getters: true }),
    'util.inspect without custom inspection': () =>
      inspect(holder, { depth: null, showHidden: true, customInspect: false }),
    'util.format': () => format('%s %o %O %j %d %i', number, number, holder, holder, number, number),
    structuredClone: () => inspect(structuredClone({ ...holder, map: 0 }), { depth: null }),
    spread: () => JSON.stringify({ ...number }),
    'Object.entries': () => JSON.stringify(Object.entries(number)),
    'Object.getOwnPropertyNames': () => JSON.stringify(Reflect.ownKeys(number)),
    'valueOf and Number': () => `${inspect(number.valueOf())} ${Number(number)}`,
    'an error message': () => inspect(new Error(`the card ${number} was refused`, { cause: holder })),
    'an assertion': () => {
      try {
        assert.deepEqual(holder, {});
      } catch (error) {
        return `${inspect(error, { depth: null })} ${(error as Error).message}`;
      }
      return '';
    },
  };
  for (const [way, print] of Object.entries(waysToPrint)) {
    it(`is not printed by ${way}`, () => {
      const text = String(print());
      assert.ok(text.length > 0);
      assert.ok(!text.includes(digits));
      assert.ok(!text.includes(digits.slice(0, 8)));
    });
  }

  it('is not printed by the log, as a value, in an object, in an error or in a message', () => {
    const lines: string[] = [];
    const log = createLog('trace', { write: (line) => lines.push(line) });
    log.info(
      { number, holder, err: new Error(`${number}`, { cause: number }) },
      'card %s %o %j',
      number,
      holder,
      number,
    );
    log.error(number);
    log.child({ number }).fatal({ err: number });
    assert.equal(lines.length, 3);
    assert.ok(!lines.join().includes(digits));
    assert.ok(lines.join().includes('***'));
  });

  it('gives its last four digits and no more', () => {
    assert.equal(number.last4, digits.slice(-4));
  });
});
