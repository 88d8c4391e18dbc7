import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { limits } from '../../limits.ts';
import { beginningLength, maskedAnswer, maskedBody } from './mask.ts';

const number = '4242424242424242';
const wide = [...number].map((digit) => String.fromCharCode(0xff10 + Number(digit))).join('');
const grouped = (separator: string): string => number.replace(/(\d{4})(?=\d)/g, `$1${separator}`);

/** Each in a place of its own in JSON; none of them may leave a digit behind. */
const markers: Record<string, string> = {
  'a plain number': JSON.stringify(number),
  'a number as a number': number,
  'a number with spaces': JSON.stringify(grouped(' ')),
  'a number with two spaces': JSON.stringify(grouped('  ')),
  'a number with dashes': JSON.stringify(grouped('-')),
  'a number with en dashes': JSON.stringify(grouped('\u2013')),
  'a number with dots': JSON.stringify(grouped('.')),
  'a number with underscores': JSON.stringify(grouped('_')),
  'a number with slashes': JSON.stringify(grouped('/')),
  'a number with zero-width spaces': JSON.stringify(grouped('\u200b')),
  'a number with line breaks': JSON.stringify(grouped('\n')),
  'a full-width number': JSON.stringify(wide),
  'an array of digits': JSON.stringify([...number].map(Number)),
  'an array of texts': JSON.stringify([...number]),
  'a code': JSON.stringify('cvc: 4321'),
  'a secret key': JSON.stringify('svc_test_sk_0123456789abcdef0123456789'),
  'a signing secret': JSON.stringify('whsec_0123456789abcdef0123456789'),
};

/** Short enough that half of them is not masked by what it looks like. */
const named: Record<string, string> = {
  card: JSON.stringify({ exp_month: '12', exp_year: '2034', nested: [{ deep: '11 "22" }' }] }),
  number: JSON.stringify('4242 42'),
  cvc: '737',
  password: JSON.stringify('hunter 2 "quoted" 7'),
  Token: JSON.stringify(['12', { a: 34 }]),
  signing_secret: JSON.stringify('55'),
};

// Nothing else in these texts has a digit.
const digit = /[\d\uff10-\uff19]/;
const filler = (length: number): string => 'lorem ipsum '.repeat(Math.ceil(length / 12)).slice(0, Math.max(0, length));
// Around the end of what is kept, and of what is looked at.
const around = (end: number): number[] => Array.from({ length: 81 }, (_, index) => end - 60 + index);
const offsets = [...around(limits.requestBodyLength), ...around(limits.requestBodyLength + 256)];

/** As the service does it. */
function loggedBody(text: string): string | null {
  const bytes = Buffer.from(text);
  const isLong = bytes.length > beginningLength;
  return maskedBody(JSON.parse(text), isLong ? bytes.toString('utf8', 0, beginningLength) : null);
}

function assertHidden(shown: string | null, what: string): void {
  assert.ok(shown !== null && shown.length <= limits.requestBodyLength, what);
  assert.doesNotMatch(shown, digit, `${what}: ${shown.slice(-120)}`);
}

describe('at every offset around the cut the log hides', () => {
  for (const [what, json] of Object.entries(markers)) {
    test(what, () => {
      for (const offset of offsets) {
        const text = `{"note":"${filler(offset - 20)}","x":${json},"rest":"${filler(9000)}"}`;
        assertHidden(maskedAnswer(text), `an answer, ${offset}`);
        assertHidden(loggedBody(text), `a body, ${offset}`);
      }
    });
  }

  for (const [name, json] of Object.entries(named)) {
    test(`what is called ${name}`, () => {
      for (const offset of offsets) {
        const text = `{"note":"${filler(offset - 20)}","${name}":${json},"rest":"${filler(9000)}"}`;
        assertHidden(maskedAnswer(text), `an answer, ${offset}`);
        assertHidden(loggedBody(text), `a body, ${offset}`);
        // Without anything behind it, so that it ends between what is kept and what is looked at.
        const last = `{"note":"${filler(offset - 20)}","${name}":${json}}`;
        assertHidden(maskedAnswer(last), `an answer that ends with it, ${offset}`);
        assertHidden(loggedBody(last), `a body that ends with it, ${offset}`);
      }
    });
  }

  test('a number inside of a long text', () => {
    for (const offset of offsets) {
      for (const written of [number, grouped(' '), grouped('.'), wide]) {
        const value = { note: `${filler(offset)} ${written} ${filler(9000)}` };
        assertHidden(loggedBody(JSON.stringify(value)), `a body, ${offset}`);
        assertHidden(maskedAnswer(JSON.stringify(value)), `an answer, ${offset}`);
      }
    }
  });

  test('digits behind escape sequences', () => {
    const escaped = (plain: string): string =>
      [...plain].map((character) => `\\u00${character.charCodeAt(0).toString(16)}`).join('');
    for (const offset of offsets) {
      const fields = [
        `"${escaped('cvc')}":737`,
        `"x":"${escaped(number)}"`,
        `"${escaped('password')}":"${escaped('a"b7')}"`,
      ];
      for (const field of fields) {
        const text = `{"note":"${filler(offset - 120)}",${field},"rest":"${filler(9000)}"}`;
        assertHidden(loggedBody(text), `${field}, ${offset}`);
      }
    }
  });

  test('a number behind thousands of others, which make the text shorter', () => {
    const value = { numbers: Array.from({ length: 20_000 }, () => number) };
    assertHidden(loggedBody(JSON.stringify(value)), 'a body');
    assertHidden(maskedAnswer(JSON.stringify(value)), 'an answer');
  });
});

describe('a short text', () => {
  for (const [what, json] of Object.entries(markers)) {
    test(`hides ${what}`, () => {
      const text = `{"x":${json},"y":null}`;
      assertHidden(maskedAnswer(text), what);
      assertHidden(loggedBody(text), what);
      assert.deepEqual(Object.keys(JSON.parse(maskedAnswer(text)) as object), ['x', 'y'], what);
    });
  }

  test('hides a number that is spread over several arrays', () => {
    assertHidden(maskedAnswer(JSON.stringify(number.match(/../g)?.map((pair) => [...pair].map(Number)))), 'an answer');
  });

  test('is unchanged when there is nothing to hide', () => {
    const text = JSON.stringify({ id: '01234567-8901-7234-8901-234567890123', amount: 4900, number: null });
    assert.equal(maskedAnswer(text), text);
    assert.equal(loggedBody(text), text);
  });
});

describe('a long text', () => {
  test('keeps what has nothing to hide, up to the cut', () => {
    const text = JSON.stringify({ note: filler(20_000) });
    assert.equal(maskedAnswer(text), text.slice(0, limits.requestBodyLength));
    assert.equal(loggedBody(text), text.slice(0, limits.requestBodyLength));
  });

  test('costs no more than a short one', () => {
    const cpuMsOf = (work: () => unknown): number => {
      let least = Infinity;
      for (let round = 0; round < 5; round += 1) {
        const before = process.cpuUsage();
        for (let time = 0; time < 10; time += 1) work();
        const { user, system } = process.cpuUsage(before);
        least = Math.min(least, (user + system) / 10_000);
      }
      return least;
    };
    const mebibyte = 1024 * 1024;
    for (const [what, value] of Object.entries({
      digits: { note: '1234567890 '.repeat(mebibyte / 11) },
      letters: { note: 'x'.repeat(mebibyte) },
      fields: Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`k${index}`, index])),
      numbers: Array.from({ length: 20_000 }, (_, index) => index),
      'a name': { ['4'.repeat(mebibyte)]: 1 },
    })) {
      const text = JSON.stringify(value);
      const cpuMs = cpuMsOf(() => [maskedBody(value, text.slice(0, beginningLength)), maskedAnswer(text)]);
      // The limit leaves room for a busy machine.
      assert.ok(cpuMs < 15, `${what} took ${cpuMs} ms`);
    }
  });
});
