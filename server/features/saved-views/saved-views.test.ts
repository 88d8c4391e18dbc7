import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { colleague, companyOf, type Person, signUp } from '../../../tests/support/dashboard.ts';
import { assertRefused } from '../../../tests/support/orders.ts';
import { type Reply, startTestService, type TestService } from '../../../tests/support/service.ts';
import { limits } from '../../limits.ts';

let service: TestService;
let owner: Person;
before(async () => {
  service = await startTestService();
  owner = await signUp(service);
});
after(() => service.stop());

const path = '/dashboard/saved_views';
const view = { list: '/v1/orders', name: 'Declined', search: { status: 'failed', q: 'ada' } };
const save = (person: Person, changes: object = {}): Promise<Reply> => person.in('POST', path, { ...view, ...changes });
const namesOf = async (person: Person, options?: { company: string }): Promise<string[]> =>
  (await person.in('GET', path, undefined, options)).body.data.map(({ name }: { name: string }) => name);

describe('saved views', () => {
  it('belong to one member in one company, and are replaced by name', async () => {
    const made = await save(owner);
    assert.deepEqual([made.status, made.body], [201, { id: made.body.id, ...view }], made.text);
    const changed = await save(owner, { name: ' Declined ', search: {} });
    assert.deepEqual([changed.body.id, changed.body.search], [made.body.id, {}]);
    await save(owner, { list: '/v1/transactions' });
    assert.deepEqual(await namesOf(owner), ['Declined', 'Declined']);

    assert.deepEqual(await namesOf(owner, { company: companyOf(owner, 'live') }), []);
    const other = await colleague(service, owner, 'Viewer');
    assert.deepEqual(await namesOf(other), []);
    assert.equal((await save(other)).status, 201);
    assertRefused(await other.in('DELETE', `${path}/${made.body.id}`), 404, 'resource_not_found');
    assert.equal((await owner.in('DELETE', `${path}/${made.body.id}`)).status, 200);
    assertRefused(await owner.in('DELETE', `${path}/${made.body.id}`), 404, 'resource_not_found');
    assert.deepEqual(await namesOf(other), ['Declined']);
    const { data: members } = (await owner.in('GET', '/v1/team_members')).body;
    const { id } = members.find(({ email }: { email: string }) => email === other.email);
    assert.equal((await owner.in('DELETE', `/dashboard/team_members/${id}`)).status, 200);
    const left = await service.db.query('SELECT 1 FROM saved_views WHERE member_id = $1', [id]);
    assert.equal(left.length, 0);
  });

  it('are limited in size and number, also when they are saved at the same time', async () => {
    const many = Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`f_${'a'.repeat(index)}`, 'x']));
    for (const [changes, field] of [
      [{ name: ' ' }, 'name'],
      [{ name: 'a'.repeat(61) }, 'name'],
      [{ list: 'orders' }, 'list'],
      [{ search: many }, 'search'],
      [{ search: { q: 'a'.repeat(256) } }, 'search.q'],
      [{ search: { 'Not a filter': 'x' } }, 'search'],
    ] as const) {
      const reply = await save(owner, changes);
      assertRefused(reply, 400, 'validation_error');
      assert.ok(reply.body.error.field_errors[0].field.startsWith(field), reply.text);
    }
    const person = await signUp(service);
    const replies = await Promise.all(
      Array.from({ length: limits.savedViews + 3 }, (_, index) => save(person, { name: `View ${index}` })),
    );
    assert.equal(replies.filter(({ status }) => status === 201).length, limits.savedViews);
    assertRefused(await save(person, { name: 'One more' }), 400, 'invalid_request');
    const [name] = await namesOf(person);
    assert.equal((await save(person, { name })).status, 201);
  });
});
