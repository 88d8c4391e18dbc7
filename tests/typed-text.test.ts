import assert from 'node:assert/strict';
import { processorKinds } from '../server/vault/processors/kinds.ts';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { languages } from '../server/customer-texts/languages.ts';
import { type Person, signUp } from './support/dashboard.ts';
import { bodyWith, type RequestField, requestFields, sendBody } from './support/request-fields.ts';
import { type Reply, someCustomer, someProduct, startTestService, type TestService } from './support/service.ts';

/** What people type: no card numbers in it, and names that can be seen. */

let service: TestService;
let owner: Person;
before(async () => {
  service = await startTestService({ settings: { SVC_TRUST_PROXY: '127.0.0.1' } });
  owner = await signUp(service);
});
after(() => service.stop());

/** Text of a form of its own, which no card number has. */
const formats = ['uuid', 'date', 'date-time', 'email', 'phone', 'us-phone', 'currency', 'country', 'color'];
const isText = ({ schemas }: RequestField): boolean =>
  schemas.some(
    ({ type, format, enum: values, const: value, pattern }) =>
      type === 'string' &&
      values === undefined &&
      value === undefined &&
      !formats.includes(String(format)) &&
      !(typeof pattern === 'string' && pattern.startsWith('^/')),
  );

/** What an owner copies from a processor; it is sealed. */
const credentials = processorKinds.flatMap(({ fields }) => fields.map(({ name }) => `configuration.${name}`));

/** Text that programs fill, and secrets that are never kept as they are. */
const filledByPrograms: Readonly<Record<string, readonly string[]>> = {
  createProduct: ['sku'],
  updateProduct: ['sku'],
  createPlan: ['plan_code'],
  createCheckoutSession: ['success_url', 'cancel_url', 'coupon_code'],
  previewCheckout: ['coupon_code', 'profile.terms_url', 'profile.texts.terms_url'],
  createCustomerSession: ['return_url'],
  createPaymentLink: ['success_url', 'coupon_code'],
  updatePaymentLink: ['success_url'],
  updateProfile: [
    'website',
    'terms_url',
    'customer_page.return_url',
    ...languages.map((tag) => `texts.${tag}.terms_url`),
  ],
  updateInvoiceSettings: ['invoice_prefix', 'credit_note_prefix'],
  createWebhookEndpoint: ['url'],
  updateWebhookEndpoint: ['url'],
  updateDispute: ['defense.reason', 'defense.documents[0].type', 'defense.documents[0].source'],
  addDisputeFile: ['content'],
  connectProcessor: credentials,
  testProcessorCredentials: credentials,
  updateProcessor: credentials,
  createOrder: ['coupon_code', 'authentication.cavv', 'authentication.eci', 'authentication.version'],
  createSubscription: ['coupon_code'],
  validateCoupon: ['code'],
  createApiKey: ['allowed_addresses[0]'],
  updateApiKey: ['allowed_addresses[0]'],
  createCardToken: ['card.number', 'card.exp_month', 'card.exp_year', 'card.cvc'],
  captureCard: ['card.number', 'card.exp_month', 'card.exp_year', 'card.cvc'],
  attachPaymentMethod: ['card_token'],
  'POST /dashboard/sign_up': ['password'],
  'POST /dashboard/session': ['email', 'password', 'totp_code'],
  'POST /dashboard/session/once': ['token'],
  'POST /dashboard/session/step_up': ['password', 'totp_code'],
  'POST /dashboard/password': ['current_password', 'password'],
  'POST /dashboard/password_resets': ['email'],
  'POST /dashboard/password_resets/complete': ['token', 'password'],
  'POST /dashboard/totp/confirm': ['code'],
  'POST /dashboard/invitations/:token/accept': ['password', 'totp_code'],
};

/** Only the names of time zones and of languages are accepted. */
const isListed = ({ field }: RequestField): boolean => field === 'time_zone' || field === 'locale';

const texts = requestFields.filter((field) => isText(field) && !isListed(field));
const isTyped = ({ operation, field }: RequestField): boolean => !filledByPrograms[operation]?.includes(field);
const send = (request: RequestField, value: unknown): Promise<Reply> =>
  sendBody(service, owner, request, bodyWith(request.field, value));

const problemsOf = (reply: Reply, request: RequestField): { code: string; message: string }[] =>
  (reply.body.error?.field_errors ?? []).filter(({ field }: { field: string }) => field === request.field);

describe('a card number', () => {
  // In a form that fits into the shortest of them and has no character that any of them refuses.
  const number = '4242-4242-4242-4242';

  it('is tried in every text of every body', () => {
    const named = Object.entries(filledByPrograms).flatMap(([operation, fields]) =>
      fields.map((field) => `${operation} ${field}`),
    );
    const known = new Set(texts.map(({ operation, field }) => `${operation} ${field}`));
    assert.deepEqual(
      named.filter((field) => !known.has(field)),
      [],
    );
    assert.ok(texts.filter(isTyped).length > 90, `${texts.filter(isTyped).length} fields`);
  });

  for (const [operation, fields] of Map.groupBy(texts.filter(isTyped), (field) => field.operation)) {
    it(`is refused by ${operation} where people type`, async () => {
      for (const request of fields) {
        const reply = await send(request, number);
        const [problem] = problemsOf(reply, request);
        assert.deepEqual([reply.status, reply.body.error?.code], [400, 'validation_error'], reply.text);
        assert.equal(problem?.code, 'invalid_value', `${request.field}: ${reply.text}`);
        assert.match(problem?.message ?? '', /^looks like a card number/, request.field);
        assert.ok(!reply.text.includes('4242'), reply.text);
      }
    });
  }

  it('is taken where programs fill the text', async () => {
    for (const request of texts.filter((field) => !isTyped(field))) {
      const reply = await send(request, number);
      for (const { message } of problemsOf(reply, request)) assert.doesNotMatch(message, /card number/, request.field);
    }
  });

  it('is found in every form', async () => {
    const forms = [
      '4242 4242 4242 4242',
      '4242.4242.4242.4242',
      '4242\u200b4242\u200b4242\u200b4242',
      '４２４２４２４２４２４２４２４２',
    ];
    for (const form of forms) {
      const reply = await service.call('POST', '/v1/customers', { body: someCustomer({ company: `card ${form}` }) });
      assert.deepEqual([reply.status, reply.body.error?.param], [400, 'company'], form);
    }
  });

  it('is refused in what a triggered event is made of, too', async () => {
    const body = { type: 'customer.created', overrides: { first_name: number } };
    const reply = await service.call('POST', '/v1/sandbox/events/trigger', { body });
    assert.deepEqual([reply.status, reply.body.error?.param], [400, 'first_name'], reply.text);
  });
});

describe('a name', () => {
  const unseen = ['\u200b', '\u202e', '\u0007', '\n', ' ', '\u00ad', '\u3164', '\u2800', '\ufeff\u2060', '\u0301'];
  const broken = ['Ada\nLovelace', 'Ada\u0007', '\tAda', 'Ada\u2028', 'Ada\u0085'];
  const names = texts.filter(({ field }) => /(^|[._])(name|company)$|^tags/.test(field));

  it('has visible characters and one line, in every request', async () => {
    assert.ok(names.length > 25, `${names.length} names`);
    for (const request of names) {
      for (const text of [...unseen, ...broken]) {
        const reply = await send(request, text);
        const what = `${request.operation} ${request.field} ${JSON.stringify(text)}`;
        assert.equal(problemsOf(reply, request).length, 1, `${what}: ${reply.text}`);
      }
    }
  });

  it('may be of any script, with the joiners that some of them need', async () => {
    for (const first_name of ['Zoë', '李', 'علی‌رضا', 'क्‍ष', '👩‍💻', 'O’Neil', 'ﬀ', 'X Æ A-12']) {
      const reply = await service.call('POST', '/v1/customers', { body: someCustomer({ first_name }) });
      assert.deepEqual([reply.status, reply.body.first_name], [201, first_name], reply.text);
    }
  });

  it('does not bind descriptions, which may have several lines', async () => {
    const body = someProduct({ description: 'One line\n\tand another' });
    const reply = await service.call('POST', '/v1/products', { body, idempotencyKey: randomUUID() });
    assert.equal(reply.body.description, 'One line\n\tand another');
  });
});

describe('an email address', () => {
  for (const email of ['a@b', 'root@localhost', 'a@b.', 'a@.b', 'a@b..c', '"a b"@example.com', 'a@exämple.com']) {
    it(`is not ${email}`, async () => {
      const reply = await service.call('POST', '/v1/customers', { body: someCustomer({ email }) });
      assert.deepEqual([reply.status, reply.body.error?.param], [400, 'email'], reply.text);
    });
  }

  it('that was accepted once can still sign in', async () => {
    const person = await signUp(service);
    await service.control.query(`UPDATE users SET email = 'old@host', email_key = 'old@host' WHERE email = $1`, [
      person.email,
    ]);
    const body = { email: 'old@host', password: person.password };
    assert.equal((await person.call('POST', '/dashboard/session', { body })).status, 200);
  });
});
