import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { brandOf, passesLuhn } from './card-brands.ts';
import { hasCardNumber, looksLikeCardNumber, maskCardNumbers } from './card-digits.ts';
import { createLog } from './log.ts';

const numbers = {
  visa: '4242424242424242',
  'visa of 13 digits': '4222222222222',
  mastercard: '5555555555554444',
  'mastercard of the 2-series': '2223003122003222',
  amex: '378282246310005',
  diners: '30569309025904',
  discover: '6011111111111117',
  jcb: '3530111333300000',
  unionpay: '6200000000000005',
  maestro: '6759649826438453',
};

const separators: Record<string, string> = {
  nothing: '',
  'a space': ' ',
  'two spaces': '  ',
  'a tab': '\t',
  'a line break': '\r\n',
  'a no-break space': '\u00a0',
  'a narrow no-break space': '\u202f',
  'an ideographic space': '\u3000',
  'a hyphen': '-',
  'a spaced hyphen': ' - ',
  'a hyphen U+2010': '\u2010',
  'a no-break hyphen': '\u2011',
  'a figure dash': '\u2012',
  'an en dash': '\u2013',
  'an em dash': '\u2014',
  'a minus sign': '\u2212',
  'a full-width hyphen': '\uff0d',
  'a soft hyphen': '\u00ad',
  'a dot': '.',
  'a middle dot': '·',
  'a comma': ',',
  'a comma and a space': ', ',
  'an underscore': '_',
  'a slash': '/',
  'a backslash': '\\',
  'a colon': ':',
  'a bar': '|',
  'an asterisk': '*',
  'a zero-width space': '\u200b',
  'a zero-width joiner': '\u200d',
  'a byte order mark': '\ufeff',
  'a word joiner': '\u2060',
  'a right-to-left mark': '\u200f',
  'a Hangul filler': '\u3164',
  'a NUL': '\u0000',
};

const grouped = (number: string, size: number, separator: string): string =>
  (number.match(new RegExp(`.{1,${size}}`, 'g')) ?? []).join(separator);

for (const [brand, number] of Object.entries(numbers)) {
  test(`finds a ${brand} number in any text`, () => {
    assert.ok(passesLuhn(number) && brandOf(number).lengths.includes(number.length));
    for (const text of [number, `card ${number}.`, `PAN${number}exp`, `${number} 12/30 999`, `7 ${number}`]) {
      assert.ok(looksLikeCardNumber(text), text);
      assert.doesNotMatch(maskCardNumbers(text), new RegExp(number), text);
    }
  });
}

for (const [what, separator] of Object.entries(separators)) {
  test(`finds a number written with ${what}`, () => {
    for (const number of Object.values(numbers)) {
      for (const size of [1, 2, 3, 4, 5, 6]) {
        const text = `note: ${grouped(number, size, separator)}; `;
        assert.ok(looksLikeCardNumber(text), JSON.stringify(text));
        assert.ok(hasCardNumber(text), JSON.stringify(text));
        assert.equal(maskCardNumbers(text), 'note: ***; ', JSON.stringify(text));
        assert.doesNotMatch(maskCardNumbers(JSON.stringify(text)), /\d/, JSON.stringify(text));
      }
    }
  });
}

test('finds a number with different separators', () => {
  for (const text of [
    '4242-4242 4242.4242',
    '4242 424242 42-4242',
    '4,242,424,242,424,242',
    '4242\u200b 4242\u200b-4242 4242',
  ]) {
    assert.ok(looksLikeCardNumber(text), text);
  }
});

test('finds a number in the digits of every script', () => {
  const zeros = [...Array(0x20000).keys()].filter((code) => {
    const isDigit = (at: number): boolean => /\p{Nd}/u.test(String.fromCodePoint(at));
    return isDigit(code) && !isDigit(code - 1);
  });
  assert.ok(zeros.length > 50);
  const written = (zero: number): string =>
    [...'4242424242424242'].map((digit) => String.fromCodePoint(zero + Number(digit))).join('');
  for (const zero of [...zeros, 0x1d7d8, 0x1d7e2, 0x1d7ec, 0x1d7f6]) {
    assert.ok(looksLikeCardNumber(written(zero)), zero.toString(16));
    assert.equal(maskCardNumbers(`(${written(zero)})`), '(***)');
  }
  for (const digits of ['④②', '⁴²', '₄₂', '⒋⒉', '４２', '4️⃣2️⃣', '४२']) {
    assert.ok(looksLikeCardNumber(digits.repeat(8)), digits);
  }
});

test('finds a number in JSON and in URLs, also behind escape sequences and in arrays of digits', () => {
  const number = numbers.visa;
  const texts = [
    JSON.stringify({ note: grouped(number, 4, '\n') }),
    JSON.stringify(JSON.stringify({ note: grouped(number, 4, '\t') })),
    JSON.stringify([...number]),
    JSON.stringify([...number].map(Number)),
    JSON.stringify(number.match(/.{4}/g)),
    [...number].map((digit) => `\\u003${digit}`).join(''),
    grouped(number, 4, '%20'),
    [...number].map((digit) => `%3${digit}`).join(''),
    encodeURIComponent(grouped(number, 4, '\u200b')),
  ];
  for (const text of texts) {
    assert.ok(hasCardNumber(text), text);
    assert.ok(!hasCardNumber(maskCardNumbers(text)), text);
  }
});

test('takes honest text for what it is', () => {
  const texts = [
    'Sizes 36 37 38 39 40 41 42 43 44 45',
    'Sizes 36/38/40/42/44/46/48/50/52',
    'Sizes 52-50-48-46-44-42-40-38-36',
    '49.00 / 59.00 / 49.00 / 69.00 / 49.00 / 79.00',
    '24/12/25, 31/12/25, 24/12/26, 31/12/26',
    '$49.00, $59.00, $69.00, $79.00, $89.00, $99.00',
    '2026-02-11T09:30:00.000Z, 2026-02-12T09:30:00.000Z',
    '2026-02-11 09:30, 2026-03-11 09:30, 2026-04-11 09:30',
    '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60',
    '42424242-4242-4242-a242-424242424242',
    'evt_42424242424242424242424242424242',
    '+639171234566',
    '+44 20 7946 0958, +44 20 7946 0959',
    '4242 4242 4242 4243',
    '4242424242424242424242424242',
    '192.168.100.200, 10.0.0.1',
    'ISBN 978-3-16-148410-0',
    'a1b2c3d4e5f6a7b8c9d0',
  ];
  for (const text of texts) assert.ok(!looksLikeCardNumber(text), text);
});

test('a phone number is not a card number only with its plus and with at most 15 digits', () => {
  const phone = Array.from({ length: 10 }, (_, digit) => `63917123456${digit}`).find(passesLuhn) ?? '';
  assert.ok(looksLikeCardNumber(phone));
  assert.ok(!looksLikeCardNumber(`+${phone}`));
  assert.ok(looksLikeCardNumber(`+${numbers.visa}`));
});

test('a log shows ids, addresses and times as they are, and no 12 digits in simple groups', () => {
  const kept = [
    '{"id":"42424242-4242-4242-a242-424242424242","event":"evt_01234567890123456789012345678901"}',
    '192.168.100.200',
    '{"created_at":"2026-02-11T09:30:00.000Z","updated_at":"2026-02-11T09:30:00.000Z"}',
    '[1,3,5,7]',
  ];
  for (const text of kept) assert.equal(maskCardNumbers(text), text);
  assert.equal(maskCardNumbers('a 1234 5678 9012 b 1234567890 c 123456-789012'), 'a *** b 1234567890 c ***');
});

test('ids of digits hide no number beside them', () => {
  const id = '12345678-9012-4345-8789-012345678901';
  assert.equal(hasCardNumber(`{"id":"${id}","ids":["${id}","${id}"]}`), false);
  for (const text of [`"${id}" "4242424242424242"`, `["${id}",4242424242424242]`, `4242424242424242"${id}"`]) {
    assert.equal(hasCardNumber(text), true, text);
  }
  assert.equal(hasCardNumber(`"${id}1"`), true);
  assert.equal(hasCardNumber(`"1${id}"`), true);
});

test('agrees with a plain reading of the rule on any digits', () => {
  // Four digits decide: a number that a network of one country does not issue may still be one of another network.
  const plainly = (digits: string): boolean =>
    passesLuhn(digits) && brandOf(digits.slice(0, 4)).lengths.includes(digits.length);
  fc.assert(
    fc.property(fc.stringMatching(/^\d{1,24}$/), fc.constantFrom('', ' ', 'x', '"'), (digits, around) => {
      assert.equal(looksLikeCardNumber(around + digits + around), plainly(digits));
    }),
    { numRuns: 2_000 },
  );
});

test('masks everything it finds, and leaves the rest as it is', () => {
  const pieces = fc.array(
    fc.constantFrom('4242', '424242', '4', '2', ' ', '-', '.', '\u200b', 'a', '"', '\\n', '%20', '٤٢'),
    {
      maxLength: 40,
    },
  );
  fc.assert(
    fc.property(pieces, (parts) => {
      const text = parts.join('');
      const masked = maskCardNumbers(text);
      assert.equal(hasCardNumber(masked.replaceAll('***', 'x')), false);
      assert.equal(masked !== text, hasCardNumber(text));
      if (looksLikeCardNumber(text)) assert.notEqual(masked, text);
    }),
    { numRuns: 2_000 },
  );
});

test('the time grows with the length of the text and with nothing else', () => {
  const filled = (part: string, bytes: number): string => part.repeat(Math.ceil(bytes / part.length));
  const cpuMs = (text: string): number => {
    const before = process.cpuUsage();
    maskCardNumbers(text);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  const order = {
    id: '019c4c1e-6f00-7a3b-9d1c-2b8f3a4e5d60',
    name: 'Ada',
    total: 4900,
    at: '2026-02-11T09:30:00.000Z',
  };
  const megabyte = filled(JSON.stringify(order), 1024 * 1024);
  const rounds = Array.from({ length: 5 }, () => cpuMs(megabyte));
  assert.ok(Math.min(...rounds) < 40, rounds.join(' '));
  const hostile = ['1234567890 ', '4 2 ', '0', '4242.4243.', '\\', '%20', '\\u0034', '\u200b4', '00000000-0000-'];
  for (const part of hostile) assert.ok(cpuMs(filled(part, 128 * 1024)) < 300, part);
});

test('an error in the log quotes no card number', () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => lines.push(line) });
  log.error({ err: new Error(`invalid input: 4242.4242.4242.4242`) }, 'request failed');
  assert.equal(lines.length, 1);
  assert.match(lines.join(''), /invalid input: \*\*\*/);
  assert.doesNotMatch(lines.join(''), /4242/);
});
