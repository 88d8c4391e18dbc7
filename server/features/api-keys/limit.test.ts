import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { companyOf, type Person, signUp } from '../../../tests/support/dashboard.ts';
import { startTestService, type TestService } from '../../../tests/support/service.ts';
import { limits } from '../../limits.ts';

let service: TestService;
let owner: Person;
let company: string;

before(async () => {
  service = await startTestService();
  owner = await signUp(service);
  company = companyOf(owner, 'sandbox');
});
after(() => service.stop());

/** Keys whose secrets were never returned. */
async function fill(count: number, state: 'active' | 'revoked' | 'expired' = 'active'): Promise<void> {
  await service.db.query(
    `INSERT INTO api_keys (company_id, id, kind, name, lookup_id, secret_hash, permissions, allowed_addresses,
       expires_at, revoked_at)
     SELECT $1, uuidv7(), 'secret', 'K', $3 || n, sha256(''), '{}', '{}',
       CASE $3 WHEN 'expired' THEN now() - interval '1 day' END, CASE $3 WHEN 'revoked' THEN now() END
     FROM generate_series(1, $2::integer) AS n`,
    [company, count, state],
  );
}

const create = (): ReturnType<Person['in']> =>
  owner.in('POST', '/dashboard/api_keys', { name: 'K', kind: 'secret', permissions: ['customers:read'] });

test('a company has a limited number of keys, also when the last ones are made at once; old ones do not count', async () => {
  const left = 3;
  await fill(20, 'revoked');
  await fill(20, 'expired');
  await fill(limits.apiKeys - left);
  const made = await Promise.all(Array.from({ length: 10 }, create));
  const keys = made.filter(({ status }) => status === 201);
  assert.equal(keys.length, left);
  for (const { status, body } of made.filter((reply) => !keys.includes(reply))) {
    assert.deepEqual([status, body.error.code], [400, 'invalid_request']);
    assert.match(body.error.message, /at most 1,000 API keys.*Revoke/);
  }

  const old = keys[0]?.body.id;
  const rotate = (grace_period_hours: number): ReturnType<Person['in']> =>
    owner.in('POST', `/dashboard/api_keys/${old}/rotate`, { grace_period_hours });
  assert.equal((await rotate(24)).status, 400, 'beside the old one there is no room');
  assert.equal((await rotate(0)).status, 201, 'in its place there is');

  assert.equal((await owner.in('DELETE', `/dashboard/api_keys/${keys[1]?.body.id}`)).status, 200);
  assert.equal((await create()).status, 201);
  assert.equal((await create()).status, 400);
});

test('the limit of one company does not affect another', async () => {
  const other = await owner.in(
    'POST',
    '/dashboard/api_keys',
    { name: 'K', kind: 'publishable' },
    {
      company: companyOf(owner, 'live'),
    },
  );
  assert.equal(other.status, 201, other.text);
});
