import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { cloneDatabase, type TestDatabase } from '../../tests/support/database.ts';
import { type DatabasePool, openDatabase } from './database.ts';
import { rowsOf } from './rows.ts';

let database: TestDatabase;
let db: DatabasePool;

before(async () => {
  database = await cloneDatabase();
  const { connectionString } = database;
  db = openDatabase({ connectionString, poolSize: 1, applicationName: 'svc tests', onError: () => undefined });
});

after(async () => {
  await db.close();
  await database.drop();
});

const rows = rowsOf({
  place: 'integer',
  text: 'text',
  value: 'json',
  flag: 'boolean',
  at: 'timestamptz',
  lockMs: 'uuid',
  words: 'text[]',
});

const read = (given: Parameters<typeof rows.values>[0]): Promise<object[]> =>
  db.query(`SELECT * FROM ${rows.from(1)} AS r ORDER BY place`, rows.values(given));

it('returns every value as it was given', async () => {
  const id = '019c4c21-4a00-7e12-8c3d-7e6f5a4b3c2d';
  const at = new Date(1_794_819_522_827);
  const texts = ['plain', '', ' ', 'null', 'NULL', '{a,b}', 'a"b\\c', "it's", 'line\nbreak\ttab', 'ü 茶 🍵', '\u001e'];
  const values = [{ a: 1 }, [1, 'x'], 'null', '\u001e', 0, false, { text: '"\\,{}' }];
  const given = texts.map((text, place) => ({
    place,
    text,
    value: values[place % values.length],
    flag: place % 2 === 0,
    at,
    lockMs: id,
    words: texts.slice(0, place),
  }));
  assert.deepEqual(await read(given), given);
});

it('returns null for null and undefined', async () => {
  const nothing = { text: null, value: null, flag: null, at: null, lockMs: null, words: null };
  const given = [
    { place: 0, ...nothing },
    {
      place: 1,
      text: undefined,
      value: undefined,
      flag: undefined,
      at: undefined,
      lockMs: undefined,
      words: undefined,
    },
  ];
  assert.deepEqual(await read(given), [
    { place: 0, ...nothing },
    { place: 1, ...nothing },
  ]);
});

it('returns long texts, without the characters that separate them', async () => {
  const long = rowsOf({ place: 'integer', text: 'long text' });
  const texts = ['{"a":"b\\"c"}', 'null', null, 'a,b', 'ü 茶 🍵\n', 'x\u001ey\u001fz', '\u001f'];
  const given = texts.map((text, place) => ({ place, text }));
  const found = await db.query<{ text: string | null }>(
    `SELECT * FROM ${long.from(1)} AS r ORDER BY place`,
    long.values(given),
  );
  const expected = [...texts.slice(0, 5), 'x\uFFFDy\uFFFDz', '\uFFFD'];
  assert.deepEqual(
    found.map(({ text }) => text),
    expected,
  );
});

it('returns no rows for none', async () => {
  assert.deepEqual(await read([]), []);
});
