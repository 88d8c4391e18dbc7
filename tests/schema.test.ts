import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { describeSchema, recordedSchema, recordedTables, schemaFile } from './support/schema.ts';
import { cloneDatabase } from './support/database.ts';

test('schema.sql is what the migrations make', async () => {
  const database = await cloneDatabase(1);
  try {
    const schema = await describeSchema(database.connectionString);
    if (process.env.SVC_UPDATE_SCHEMA === '1') await writeFile(schemaFile, schema);
    assert.equal(await recordedSchema(), schema, 'run: SVC_UPDATE_SCHEMA=1 npm test tests/schema.test.ts');
  } finally {
    await database.drop();
  }
});

test('every tenant table has the company first in its primary key and in every unique index', async () => {
  const tables = (await recordedTables()).filter(({ text }) => /^\s+company_id uuid/m.test(text));
  assert.ok(tables.length >= 6);
  // These lead to a company, from something that arrives without one.
  const lookups = ['api_key_lookups', 'card_tokens', 'company_names', 'memberships'];
  for (const { name, text } of tables) {
    if (lookups.includes(name)) continue;
    for (const [, columns] of text.matchAll(/(?:PRIMARY KEY|UNIQUE|CREATE UNIQUE INDEX .* USING btree) \((.*)\)/g)) {
      assert.match(columns ?? '', /^company_id/, `${name}: ${columns}`);
    }
  }
});
