import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { invitationOf, newPerson, type Person, signUp } from '../../../tests/support/dashboard.ts';
import { assertRefused } from '../../../tests/support/orders.ts';
import { startTestService, type Reply, type TestService } from '../../../tests/support/service.ts';

/** A person has a phone number of any country. The API promises a US number of a member, and shows null for others. */

let service: TestService;
let owner: Person;
before(async () => {
  service = await startTestService();
  owner = await signUp(service);
});
after(() => service.stop());

async function signUpWith(phone_number: unknown): Promise<{ person: Person; reply: Reply }> {
  const person = newPerson(service);
  const { email, password } = person;
  const body = { email, password, first_name: 'Ada', last_name: 'L', company_name: 'Engines', phone_number };
  return { person, reply: await person.call('POST', '/dashboard/sign_up', { body }) };
}

const membersOf = async (person: Person): Promise<{ email: string; phone_number: string | null }[]> =>
  (await person.in('GET', '/v1/team_members')).body.data;

async function invite(path: string, phone_number: string): Promise<{ reply: Reply; email: string }> {
  const roles = await owner.in('GET', '/v1/roles');
  const { email } = newPerson(service);
  const role_id = roles.body.data.find(({ name }: { name: string }) => name === 'Viewer').id;
  const body = { first_name: 'Grace', last_name: 'Hopper', email, phone_number, role_id };
  return { reply: await owner.in('POST', path, body), email };
}

async function accept(email: string): Promise<Person> {
  const person = newPerson(service, email);
  const path = `/dashboard/invitations/${await invitationOf(service, email)}/accept`;
  const reply = await person.call('POST', path, { body: { password: person.password } });
  assert.equal(reply.status, 200, reply.text);
  return person;
}

const numberOf = async (person: Person): Promise<string | null> =>
  (await person.call('GET', '/dashboard/session')).body.user.phone_number;

describe('the phone number of a person', () => {
  for (const [written, kept, shown] of [
    ['+49 (30) 1234-567', '+49301234567', null],
    ['+1 555.123.4567', '+15551234567', '+15551234567'],
    ['+1 555 123 45678', '+155512345678', null],
  ] as const) {
    it(`is ${kept} when it was signed up with as ${written}; the membership shows ${shown}`, async () => {
      const { person, reply } = await signUpWith(written);
      assert.equal(reply.status, 201, reply.text);
      assert.equal(reply.body.user.phone_number, kept);
      const members = await membersOf(person);
      assert.deepEqual(
        members.map(({ phone_number }) => phone_number),
        [shown],
      );
    });
  }

  it('must be one', async () => {
    for (const phone of ['5551234567', '+0301234567', '+49', 'phone', '', null]) {
      assertRefused((await signUpWith(phone)).reply, 400, 'validation_error', 'phone_number');
    }
  });

  it('may be of any country in an invitation of the dashboard, and is theirs once they accept', async () => {
    const { reply, email } = await invite('/dashboard/team_members', '+49 30 1234567');
    assert.deepEqual([reply.status, reply.body.phone_number, reply.body.status], [201, null, 'pending'], reply.text);
    const person = await accept(email);
    assert.equal(await numberOf(person), '+49301234567');
    assert.equal((await membersOf(owner)).find((member) => member.email === email)?.phone_number, null);
  });

  it('is a US number in an invitation by the API', async () => {
    const german = await invite('/v1/team_members', '+49301234567');
    assertRefused(german.reply, 400, 'validation_error', 'phone_number');
    const { reply, email } = await invite('/v1/team_members', '+15557654321');
    assert.equal(reply.body.phone_number, '+15557654321');
    assert.equal(await numberOf(await accept(email)), '+15557654321');
  });

  it('of an account that exists stays as it is when another company invites it', async () => {
    const { reply, email } = await invite('/dashboard/team_members', '+49301111111');
    assert.equal(reply.status, 201);
    const person = await accept(email);
    assert.equal(
      (await person.call('PATCH', '/dashboard/user', { body: { phone_number: '+44 20 7946 0958' } })).status,
      200,
    );
    const other = await signUp(service);
    const roles = await other.in('GET', '/v1/roles');
    const body = {
      first_name: 'G',
      last_name: 'H',
      email,
      phone_number: '+33123456789',
      role_id: roles.body.data[0].id,
    };
    assert.equal((await other.in('POST', '/dashboard/team_members', body)).status, 201);
    await accept(email);
    assert.equal(await numberOf(person), '+442079460958');
  });

  it('can be changed by the person, and not removed', async () => {
    const { person } = await signUpWith('+49301234567');
    const change = (body: object): Promise<Reply> => person.call('PATCH', '/dashboard/user', { body });
    assert.equal((await change({ phone_number: '+81 3-1234-5678' })).body.user.phone_number, '+81312345678');
    assert.equal((await change({ first_name: 'Augusta' })).body.user.phone_number, '+81312345678');
    assertRefused(await change({ phone_number: null }), 400, 'validation_error', 'phone_number');
  });

  it('and a name are added by the person who was invited with an email address and a role', async () => {
    const { email } = newPerson(service);
    const role_id = (await owner.in('GET', '/v1/roles')).body.data[0].id;
    const invited = await owner.in('POST', '/dashboard/team_members', { email, role_id });
    assert.deepEqual(
      [invited.status, invited.body.first_name, invited.body.phone_number],
      [201, '', null],
      invited.text,
    );
    const token = await invitationOf(service, email);
    const person = newPerson(service, email);
    const acceptWith = (more: object): Promise<Reply> =>
      person.call('POST', `/dashboard/invitations/${token}/accept`, { body: { password: person.password, ...more } });
    assertRefused(await acceptWith({ first_name: 'Grace' }), 400, 'validation_error', 'last_name');
    const reply = await acceptWith({ first_name: 'Grace', last_name: 'Hopper', phone_number: '+49 30 1234567' });
    assert.deepEqual([reply.status, reply.body.user.phone_number], [200, '+49301234567'], reply.text);
    const member = (await owner.in('GET', '/v1/team_members')).body.data.find(
      (one: { email: string }) => one.email === email,
    );
    assert.deepEqual(
      [member.first_name, member.last_name, member.phone_number, member.status],
      ['Grace', 'Hopper', null, 'active'],
    );
  });
});
