import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { describeSchema, recordedSchema, schemaFile } from './support/schema.ts';
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
  const schema = await recordedSchema();
  const tables = schema
    .split('CREATE TABLE ')
    .slice(1)
    .filter((table) => /^\s+company_id uuid/m.test(table));
  assert.ok(tables.length >= 6);
  // These lead to a company, from something that arrives without one.
  const lookups = ['api_key_lookups', 'card_tokens', 'memberships'];
  for (const table of tables) {
    const name = table.split(' ')[0] ?? '';
    if (lookups.includes(name)) continue;
    for (const [, columns] of table.matchAll(/(?:PRIMARY KEY|UNIQUE|CREATE UNIQUE INDEX .* USING btree) \((.*)\)/g)) {
      assert.match(columns ?? '', /^company_id/, `${name}: ${columns}`);
    }
  }
});
