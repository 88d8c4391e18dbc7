import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { Secret } from '../../../platform/secret.ts';
import { CardNumber } from '../../card-number.ts';
import type { Answer, Silence } from '../exchange.ts';
import { failureCodes } from '../processor.ts';
import {
  authorizationOutcomeOf,
  captureOutcomeOf,
  followUpOutcomeOf,
  isInProgress,
  modificationOf,
} from './answers.ts';
import { verificationOf } from './verifications.ts';
import { avsLetterOf, cvvLetterOf, errors, refusals } from './codes.ts';
import { connectionTestOf } from './connection-test.ts';
import { handleOf, readHandle } from './handle.ts';
import { fromAdyen, toAdyen } from './money.ts';
import { authorizationOf, keyOf, verificationRequestOf } from './requests.ts';

const number = '4111111111111111';
const cvc = '737';
const apiKey = 'AQEsecretsecretsecretsecretsecretsecret';
const secrets = [number, apiKey];

const reference = '5f2c1d5e-0000-8000-8000-000000000001';
const merchantAccount = 'SvcECOM';
const amount = { currency: 'EUR', value: 4900 };
const psp = 'QFQTPCQ8HXSKGK82';

function answered(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { status, headers, text, askedAtMs: undefined };
}

const payment = (changes: object = {}) => ({
  merchantReference: reference,
  pspReference: psp,
  resultCode: 'Authorised',
  amount,
  additionalData: { authCode: '012345', avsResult: '7 Both postal code and address match', cvcResult: '1 Matches' },
  ...changes,
});
const paid = (changes: object = {}): Answer => answered(200, payment(changes));
const refused = (refusalReasonCode: string, changes: object = {}) =>
  payment({ resultCode: 'Refused', refusalReasonCode, refusalReason: `for ${number}`, ...changes });
const refusedFor = (...given: Parameters<typeof refused>): Answer => answered(200, refused(...given));
const error = (status: number, errorCode: string, errorType = 'validation') =>
  answered(status, { status, errorCode, errorType, message: `about ${number} with ${apiKey}`, pspReference: psp });

const lost: Silence = { mayHaveArrived: true, reason: 'no response within 20000 ms' };
const unsent: Silence = { mayHaveArrived: false, reason: 'the connection failed: ECONNREFUSED' };

const keyed = (reply: Answer, key = reference): Answer => ({ ...reply, headers: { 'idempotency-key': key } });

type Row = readonly [name: string, reply: Answer | Silence, outcome: string, failureCode?: string];

/** In the shapes of the examples in Adyen's own API description: few have an amount, and not all a reference. */
const avsOfExamples = { avsResult: '4 AVS not supported for this card type', avsResultRaw: '4', cvcResultRaw: 'M' };
const ofExamples = {
  refusalReasonRaw: 'AUTHORISED',
  acquirerCode: 'TestPmmAcquirer',
  acquirerReference: '8PQMP9VEP3H',
};
const direct = { cvcResult: '1 Matches', authCode: '044925', ...avsOfExamples, ...ofExamples };
const example = (changes: object = {}): Answer =>
  keyed(answered(200, { pspReference: '993617895204576J', resultCode: 'Authorised', ...changes }));
const documented: readonly Row[] = [
  ['a card, direct', example({ merchantReference: reference, additionalData: direct }), 'prepared'],
  ['a top-up with a card', example({ additionalData: { cardBin: '411111', cardSummary: '1111' } }), 'prepared'],
  ['a result without anything else', example(), 'prepared'],
  [
    'a split payment',
    example({
      merchantReference: reference,
      additionalData: { ...ofExamples, authorisedAmountCurrency: 'EUR', authorisedAmountValue: '4900', eci: 'N/A' },
    }),
    'prepared',
  ],
  [
    'IdentifyShopper with an action only',
    answered(200, { resultCode: 'IdentifyShopper', action: { type: 'threeDS2', subtype: 'fingerprint' } }),
    'declined',
    'transaction_not_allowed',
  ],
  [
    'RedirectShopper with the reference in the additional data only',
    answered(200, { resultCode: 'RedirectShopper', additionalData: { merchantReference: 'Your order number' } }),
    'declined',
    'transaction_not_allowed',
  ],
  [
    'a body that is no JSON',
    answered(400, { status: 400, errorCode: '702', message: 'Unexpected input', errorType: 'validation' }),
    'declined',
    'validation_error',
  ],
  ['a wrong key', error(401, '000', 'security'), 'declined', 'invalid_merchant_configuration'],
  ['a role that the key lacks', error(403, '010', 'security'), 'declined', 'invalid_merchant_configuration'],
  ['no return URL', error(422, '14_030'), 'declined', 'validation_error'],
  [
    'payment details that are not supported',
    error(500, '905', 'configuration'),
    'declined',
    'invalid_merchant_configuration',
  ],
  ['no acquirer account', error(500, '905_1', 'configuration'), 'declined', 'invalid_merchant_configuration'],
  [
    'a new mistake in the configuration',
    error(500, '906', 'configuration'),
    'declined',
    'invalid_merchant_configuration',
  ],
  ['that for another key', keyed(error(500, '905', 'configuration'), 'another'), 'unknown'],
  ['500 about a field', error(500, '905', 'validation'), 'unknown'],
  ['502 about the configuration', error(502, '905', 'configuration'), 'unknown'],
  ['a refusal to save fees', example({ resultCode: 'Refused', refusalReasonCode: '46' }), 'declined', 'contact_bank'],
];

const authorizations: readonly Row[] = [
  ['an authorization', paid(), 'prepared'],
  ['one without checks', paid({ additionalData: undefined }), 'prepared'],
  ['one with refusal code 0', paid({ refusalReasonCode: '0' }), 'prepared'],
  ['another reference', paid({ merchantReference: 'another' }), 'unknown'],
  ['no reference', paid({ merchantReference: undefined }), 'unknown'],
  ['no reference, but our key', keyed(paid({ merchantReference: undefined })), 'prepared'],
  ['no reference, and another key', keyed(paid({ merchantReference: undefined }), 'another'), 'unknown'],
  ['another reference under our key', keyed(paid({ merchantReference: 'another' })), 'unknown'],
  [
    'a refusal without a reference',
    keyed(refusedFor('12', { merchantReference: undefined })),
    'declined',
    'insufficient_funds',
  ],
  ...documented,
  ['no PSP reference', paid({ pspReference: undefined }), 'unknown'],
  ['no amount', paid({ amount: undefined }), 'prepared'],
  [
    'the amount in the additional data',
    paid({ amount: undefined, additionalData: { authorisedAmountValue: '4900', authorisedAmountCurrency: 'EUR' } }),
    'prepared',
  ],
  [
    'another amount in the additional data',
    paid({ amount: undefined, additionalData: { authorisedAmountValue: '4901' } }),
    'conflict',
  ],
  [
    'RedirectShopper without a reference',
    paid({ resultCode: 'RedirectShopper', merchantReference: undefined, pspReference: undefined }),
    'declined',
    'transaction_not_allowed',
  ],
  ['a security code that is missing', error(422, '14_029'), 'declined', 'invalid_merchant_configuration'],
  ['a security code of no length', error(422, '103'), 'declined', 'invalid_merchant_configuration'],
  ...(
    [
      ['03 : Do not try again', '2', 'contact_bank'],
      ['21 : Payment cancellation', '2', 'contact_bank'],
      ['02 : Try again later', '23', 'issuer_unavailable'],
      ['01 : New account information', '2', 'invalid_account'],
      ['03 : Do not try again', '20', 'fraud_suspected'],
      ['02 : Try again later', '12', 'insufficient_funds'],
      ['99 : Something new', '2', 'do_not_honor'],
    ] as const
  ).map(
    ([merchantAdviceCode, code, meaning]) =>
      [
        `refusal ${code} with the advice ${merchantAdviceCode}`,
        refusedFor(code, { additionalData: { merchantAdviceCode } }),
        'declined',
        meaning,
      ] as const,
  ),
  [
    'a response of the network that forbids a repetition',
    refusedFor('2', { additionalData: { refusalReasonRaw: '57 : Not permitted' } }),
    'declined',
    'contact_bank',
  ],
  ['another amount', paid({ amount: { ...amount, value: 4901 } }), 'conflict'],
  ['another currency', paid({ amount: { ...amount, currency: 'USD' } }), 'conflict'],
  ['a partial authorization', paid({ resultCode: 'PartiallyAuthorised' }), 'partial'],
  ['Pending', paid({ resultCode: 'Pending' }), 'unknown'],
  ['Received', paid({ resultCode: 'Received' }), 'unknown'],
  ['a result that is new', paid({ resultCode: 'Success' }), 'unknown'],
  ['RedirectShopper', paid({ resultCode: 'RedirectShopper' }), 'declined', 'transaction_not_allowed'],
  ['IdentifyShopper', paid({ resultCode: 'IdentifyShopper' }), 'declined', 'transaction_not_allowed'],
  ['ChallengeShopper', paid({ resultCode: 'ChallengeShopper' }), 'declined', 'transaction_not_allowed'],
  ['Cancelled', paid({ resultCode: 'Cancelled', refusalReasonCode: '15' }), 'declined', 'processor_declined'],
  ['Error', paid({ resultCode: 'Error', refusalReasonCode: '4' }), 'declined', 'processor_declined'],
  ['a refusal without a code', paid({ resultCode: 'Refused' }), 'declined', 'unknown'],
  ['a refusal with a new code', refusedFor('99'), 'declined', 'unknown'],
  ['a refusal named as a property', refusedFor('constructor'), 'declined', 'unknown'],
  [
    'a lost card',
    refusedFor('5', { additionalData: { refusalReasonRaw: '41 : Lost card' } }),
    'declined',
    'lost_stolen_card',
  ],
  [
    'a closed account',
    refusedFor('10', { additionalData: { inferredRefusalReason: 'Closed Account' } }),
    'declined',
    'closed_card',
  ],
  ['a refusal of another charge', refusedFor('2', { merchantReference: 'another' }), 'unknown'],
  ['an authorization with status 201', answered(201, payment()), 'unknown'],
  ['401', answered(401, { status: 401, message: apiKey }), 'declined', 'invalid_merchant_configuration'],
  ['401 in HTML', answered(401, '<html>'), 'declined', 'invalid_merchant_configuration'],
  ['403', error(403, '901', 'security'), 'declined', 'invalid_merchant_configuration'],
  ['409 in progress', error(409, '704'), 'unknown'],
  ['422 in progress', error(422, '704'), 'unknown'],
  ['404', error(404, '000'), 'unknown'],
  ['422 with a new code', error(422, '999'), 'declined', 'validation_error'],
  [
    '422 without a type',
    answered(422, { status: 422, errorCode: '101', title: number }),
    'declined',
    'invalid_account',
  ],
  ['400', error(400, '702'), 'declined', 'validation_error'],
  ['422 about the configuration', error(422, '998', 'configuration'), 'declined', 'invalid_merchant_configuration'],
  ['422 with an internal error', error(422, '101', 'internal'), 'unknown'],
  ['422 for another key', { ...error(422, '101'), headers: { 'idempotency-key': 'another' } }, 'unknown'],
  [
    '422 with another status inside',
    answered(422, { status: 500, errorCode: '101', errorType: 'x', message: '' }),
    'unknown',
  ],
  ['422 in HTML', answered(422, '<html>'), 'unknown'],
  ['429', error(429, '000', 'internal'), 'unknown'],
  ['500', error(500, '000', 'internal'), 'unknown'],
  ['503 in HTML', answered(503, '<html>Service unavailable</html>'), 'unknown'],
  ['HTML', answered(200, '<html>'), 'unknown'],
  ['nothing', answered(200, ''), 'unknown'],
  ['null', answered(200, 'null'), 'unknown'],
  ['a list', answered(200, '[]'), 'unknown'],
  ['cut JSON', answered(200, JSON.stringify(payment()).slice(0, -9)), 'unknown'],
  ['a redirect', answered(302, ''), 'unknown'],
  ['a lost answer', lost, 'unknown'],
  ['an unsent request', unsent, 'not_sent'],
];

const received = (changes: object = {}) => ({
  merchantAccount,
  paymentPspReference: psp,
  pspReference: 'JDD6LKT8MBLZNN84',
  reference,
  status: 'received',
  amount,
  ...changes,
});

const captures: readonly Row[] = [
  ['a capture', answered(201, received()), 'approved'],
  ['a capture with status 200', answered(200, received()), 'unknown'],
  ['another payment', answered(201, received({ paymentPspReference: 'another' })), 'conflict'],
  ['another reference', answered(201, received({ reference: 'another' })), 'unknown'],
  ['another account', answered(201, received({ merchantAccount: 'another' })), 'unknown'],
  ['another amount', answered(201, received({ amount: { ...amount, value: 1 } })), 'conflict'],
  ['no amount', answered(201, received({ amount: undefined })), 'unknown'],
  ['another status', answered(201, received({ status: 'refused' })), 'unknown'],
  ['an answer to an authorization', answered(201, payment()), 'unknown'],
  ['401', error(401, '000', 'security'), 'declined', 'invalid_merchant_configuration'],
  ['422', error(422, '167'), 'declined', 'validation_error'],
  ['409 in progress', error(409, '704'), 'unknown'],
  ['429', error(429, '000', 'internal'), 'unknown'],
  ['500', error(500, '000', 'internal'), 'unknown'],
  ['500 about the configuration', error(500, '905', 'configuration'), 'unknown'],
  ['422 in progress', error(422, '704'), 'unknown'],
  ['HTML', answered(502, '<html>'), 'unknown'],
  ['nothing', answered(201, ''), 'unknown'],
  ['a lost answer', lost, 'unknown'],
  ['an unsent request', unsent, 'not_sent'],
];

const sentCapture = { merchantAccount, key: keyOf(reference, 'c'), reference, payment: psp, amount };
const authorization = {
  pspReference: psp,
  amount,
  authorization_code: '012345',
  avs_result: 'Y',
  cvv_result: 'M',
  networkTransactionId: 'MCC 12|34',
};
const authorized = (reply: Answer | Silence) => authorizationOutcomeOf(reply, { reference, amount });
const captured = (reply: Answer | Silence) => captureOutcomeOf(reply, sentCapture, authorization);

function assertClean(value: unknown): void {
  const shown = JSON.stringify(value) + inspect(value, { depth: 9 });
  for (const secret of secrets) assert.ok(!shown.includes(secret), `a secret in ${shown}`);
}

function assertRow(found: { outcome: string; failureCode?: string }, [, , outcome, failureCode]: Row): void {
  assert.equal(found.outcome, outcome, inspect(found));
  if (failureCode !== undefined) assert.equal(found.failureCode, failureCode);
  assertClean(found);
}

describe('an answer of Adyen', () => {
  for (const row of authorizations) {
    it(`to an authorization: ${row[0]} is ${row[2]} ${row[3] ?? ''}`, () => assertRow(authorized(row[1]), row));
  }
  for (const row of captures) {
    it(`to a capture: ${row[0]} is ${row[2]} ${row[3] ?? ''}`, () => assertRow(captured(row[1]), row));
  }

  it('declines with every code of the table, and says whether Adyen or the bank failed', () => {
    for (const [code, { failureCode, isProcessorFault = false, name }] of Object.entries(refusals)) {
      const found = authorized(refusedFor(code));
      assert.ok(found.outcome === 'declined', code);
      assert.deepEqual([found.failureCode, found.isProcessorFault ?? false], [failureCode, isProcessorFault]);
      assert.deepEqual([found.response.response_code, found.response.response_text], [code, name]);
      assertClean(found);
    }
    for (const [code, { failureCode, isProcessorFault = false }] of Object.entries(errors)) {
      if (code === '103') continue;
      const found = authorized(error(422, code));
      assert.ok(found.outcome === 'declined', code);
      assert.deepEqual([found.failureCode, found.isProcessorFault ?? false], [failureCode, isProcessorFault]);
      assertClean(found);
    }
    const used = new Set([...Object.values(refusals), ...Object.values(errors)].map(({ failureCode }) => failureCode));
    const never = failureCodes.filter((code) => !used.has(code));
    assert.deepEqual(never, ['unknown', 'closed_card', 'lost_stolen_card', 'duplicate_transaction']);
  });

  it('to an authorization that is repeated does not say that the first one was refused', () => {
    const repeated = (reply: Answer) => authorizationOutcomeOf(reply, { reference, amount }, true).outcome;
    for (const reply of [error(500, '905', 'configuration'), error(422, '103'), error(403, '901', 'security')]) {
      assert.equal(repeated(reply), 'unknown', inspect(reply));
    }
  });

  it('has at least 60 rows for authorizations in its table', () => assert.ok(authorizations.length >= 60));

  it('of another shape never approves and never declines', () => {
    const status = fc.integer({ min: 200, max: 599 }).filter((code) => code !== 401 && code !== 403);
    const words = [
      'resultCode',
      'status',
      'merchantReference',
      'pspReference',
      'amount',
      'errorCode',
      'message',
      'reference',
    ];
    const field = fc.oneof(fc.constantFrom(...words), fc.string());
    const value = fc.oneof(fc.jsonValue(), fc.constantFrom('Authorised', 'received', psp, 'Refused', 422, amount));
    const body = fc.oneof(fc.string(), fc.jsonValue(), fc.dictionary(field, value));
    fc.assert(
      fc.property(status, body, (code, content) => {
        const isError = typeof content === 'object' && content !== null && 'errorCode' in content;
        fc.pre(!isError || (code !== 400 && code !== 422));
        const reply = answered(code, content);
        for (const { outcome } of [authorized(reply), captured(reply), followUpOutcomeOf(reply, sentCapture)]) {
          assert.ok(outcome === 'unknown', `${outcome} from ${reply.text}`);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('to a repeated request is believed only if it speaks of the first one', () => {
    const repeated = (reply: Answer | Silence) => modificationOf(reply, { ...sentCapture, isRepeat: true }).outcome;
    assert.equal(repeated(answered(201, received())), 'received');
    for (const reply of [answered(401, ''), answered(403, ''), error(422, '901'), error(409, '704'), lost, unsent]) {
      assert.equal(repeated(reply), 'unknown', inspect(reply));
    }
    assert.equal(repeated(error(422, '137')), 'declined');
  });

  it('to a capture says that the key was refused only with 401 and an error of Adyen', () => {
    const refused = captured(error(401, '000', 'security'));
    assert.equal(refused.outcome === 'declined' && refused.refusesCredentials, true, inspect(refused));
    const ofAnother = { ...error(401, '000', 'security'), headers: { 'idempotency-key': 'another' } };
    for (const reply of [answered(401, ''), answered(403, '<html>'), error(403, '901', 'security'), ofAnother]) {
      assert.equal(captured(reply).outcome, 'unknown', inspect(reply));
    }
  });

  it('asks to wait only with the header that says so', () => {
    assert.equal(isInProgress({ ...error(409, '704'), headers: { 'transient-error': 'true' } }), true);
    assert.equal(isInProgress(error(409, '704')), false);
    assert.equal(isInProgress({ ...error(500, '704'), headers: { 'transient-error': 'true' } }), false);
    assert.equal(isInProgress(lost), false);
  });

  it('to a verification or a test of the connection contains no secret', () => {
    const replies = [...authorizations, ...captures].map(([, reply]) => reply);
    for (const reply of replies) {
      assertClean(verificationOf(reply, reference));
      assertClean(connectionTestOf(reply, merchantAccount, true));
    }
    const live = connectionTestOf(answered(401, ''), merchantAccount, true);
    const test = connectionTestOf(answered(401, ''), merchantAccount, false);
    assert.ok(live.outcome === 'fails' && test.outcome === 'fails');
    assert.match(test.problem, /enter the live URL prefix/);
    assert.doesNotMatch(live.problem, /prefix/);
    assert.equal(verificationOf(error(422, '101'), reference).outcome, 'declined', 'a wrong card number');
    assert.equal(
      verificationOf(answered(401, ''), reference).outcome,
      'unknown',
      'a wrong key says nothing of the card',
    );
    const noRole = verificationOf(answered(403, ''), reference);
    assert.ok(noRole.outcome === 'unknown' && /roles of the key/.test(noRole.rejection ?? ''), 'a role is missing');
    assert.equal(
      verificationOf(answered(200, payment({ resultCode: 'RedirectShopper' })), reference).outcome,
      'unknown',
    );
  });
});

describe('the words of Adyen', () => {
  it('turn every result of AVS and CVC into a letter', () => {
    const letters = Array.from({ length: 27 }, (_, code) => avsLetterOf(`${code} some text`));
    assert.equal(letters.join(''), 'UANRSUZYUBNUBNPPNNUZYANZYAN');
    assert.equal(Array.from({ length: 7 }, (_, code) => cvvLetterOf(String(code))).join(''), 'UMNPSUP');
    for (const odd of [undefined, '', '27 new', '100', 'x', '-1']) assert.equal(avsLetterOf(odd), null);
    assert.equal(cvvLetterOf('7'), null);
  });

  it('keep the amount in all currencies', () => {
    const amounts = fc.integer({ min: 1, max: 10 ** 9 });
    const currency = fc.constantFrom('eur', 'jpy', 'kwd', 'isk', 'clp', 'cve', 'idr');
    fc.assert(
      fc.property(amounts, currency, (value, code) => {
        const sent = toAdyen({ amount: value, currency: code });
        if (sent) assert.deepEqual(fromAdyen(sent), { amount: value, currency: code });
        else assert.ok(['cve', 'idr'].includes(code) && value % 100 !== 0);
      }),
    );
    for (const value of [0, -1, 0.5, Number.NaN, 2 ** 53])
      assert.equal(toAdyen({ amount: value, currency: 'eur' }), undefined);
  });

  it('pass a handle back as it was', () => {
    assert.deepEqual(readHandle(handleOf(authorization)), authorization);
    for (const odd of ['', psp, `${psp}|x|EUR||||`, '%|1|EUR||||', '|1|EUR||||']) {
      assert.ok(readHandle(odd) === undefined || odd.startsWith('%'), odd);
    }
  });

  it('have a key of at most 64 characters for each step', () => {
    const long = 'r'.repeat(64);
    const keys = [
      keyOf(reference),
      keyOf(reference, 'c'),
      keyOf(reference, 'x'),
      keyOf(long),
      keyOf(long, 'c'),
      keyOf(long, 't'),
    ];
    assert.equal(new Set(keys).size, keys.length);
    for (const key of keys) assert.ok(key.length <= 64);
    assert.equal(keyOf(reference), reference);
  });

  it('say who started a charge, and carry a complete address only', () => {
    const card = { number: new CardNumber(number), cardId: 'card-1', expMonth: 3, expYear: 2030 };
    const request = { companyId: 'c', reference, validUntilMs: 1, card, amount: 4900, currency: 'eur' };
    const use = (initiator: 'customer' | 'merchant', sequence: 'first' | 'subsequent' | 'unscheduled') => {
      const credential = { initiator, sequence, networkTransactionId: 'N1' };
      const sent = authorizationOf({ ...request, credential }, merchantAccount, amount);
      return [sent.shopperInteraction, sent.recurringProcessingModel, sent.paymentMethod.networkPaymentReference];
    };
    assert.deepEqual(use('customer', 'first'), ['Ecommerce', 'CardOnFile', undefined]);
    assert.deepEqual(use('customer', 'unscheduled'), ['ContAuth', 'CardOnFile', 'N1']);
    assert.deepEqual(use('merchant', 'subsequent'), ['ContAuth', 'Subscription', 'N1']);
    assert.deepEqual(use('merchant', 'unscheduled'), ['ContAuth', 'UnscheduledCardOnFile', 'N1']);
    const billing = {
      name: 'Ada',
      email: null,
      phone: '030 123',
      line1: 'Hauptstraße 12a',
      line2: null,
      city: 'Berlin',
      state: null,
      postalCode: '10115',
      country: 'de',
    };
    const body = authorizationOf({ ...request, billing }, merchantAccount, amount);
    assert.deepEqual(body.billingAddress, {
      street: 'Hauptstraße',
      houseNumberOrName: '12a',
      city: 'Berlin',
      country: 'DE',
      postalCode: '10115',
    });
    assert.deepEqual([body.paymentMethod.holderName, body.telephoneNumber], ['Ada', undefined]);
    assert.deepEqual(body.additionalData, { manualCapture: 'true' });
    const american = { ...billing, line1: '1600 Main St', country: 'US', state: 'CA', postalCode: '94105-1234' };
    const sent = authorizationOf({ ...request, billing: american }, merchantAccount, amount).billingAddress;
    assert.deepEqual([sent?.houseNumberOrName, sent?.street, sent?.postalCode], ['1600', 'Main St', '94105']);
    for (const changes of [{ city: null }, { country: 'US', state: null }, { country: null }]) {
      const partial = authorizationOf({ ...request, billing: { ...billing, ...changes } }, merchantAccount, amount);
      assert.equal(partial.billingAddress, undefined);
    }
    const check = verificationRequestOf({ ...request, cvc: new Secret(cvc) }, merchantAccount, 'USD');
    assert.deepEqual([check.amount.value, check.paymentMethod.cvc], [0, cvc]);
  });
});

describe('docs/processors/adyen.md', () => {
  it('lists every code with what it becomes', async () => {
    const page = await readFile(new URL('../../../../docs/processors/adyen.md', import.meta.url), 'utf8');
    for (const [code, { name, failureCode, isProcessorFault }] of [
      ...Object.entries(refusals),
      ...Object.entries(errors),
    ]) {
      const row = `| ${code} | ${name} | \`${failureCode}\` | ${isProcessorFault ? 'Adyen or the account' : 'the bank or the request'} |`;
      assert.ok(page.includes(row), `the page lacks: ${row}`);
    }
  });
});
