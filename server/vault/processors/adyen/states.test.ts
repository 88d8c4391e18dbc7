import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import { PaymentDetailsResponse } from '@adyen/api-library/lib/src/typings/checkout/paymentDetailsResponse.js';
import { PaymentResponse } from '@adyen/api-library/lib/src/typings/checkout/paymentResponse.js';
import { systemClock } from '../../../platform/clock.ts';
import type { ChargeRequest } from '../processor.ts';
import type { SetUpOutcome } from '../setup.ts';
import { authenticationIn } from './authentication.ts';
import { prepare } from './charging.ts';
import type { Client, Reply } from './client.ts';
import { handleOf, readHandle } from './handle.ts';
import { resume } from './resumption.ts';
import { setUpsOf } from './setups.ts';
import { card, newCharge } from './testing.ts';
import { external, presence } from '../conformance-customers.ts';
import { authorizationOf } from './requests.ts';

/**
 * What each result of Adyen means: as the answer to a payment with and without the customer, to the details with which a customer came
 * back, and to a card that is saved. The results are those of Adyen's package.
 */

type Fields = Readonly<Record<string, unknown>>;

/** An Adyen that gives one answer to everything. */
function stub(body: Fields, status = 200): Client & { readonly sent: string[] } {
  const sent: string[] = [];
  return {
    ...{ merchantAccount: 'SvcECOM', clock: systemClock, sent },
    async post(path, _body, key): Promise<Reply> {
      sent.push(path.join('/'));
      return { status, headers: { 'idempotency-key': key }, askedAtMs: undefined, text: JSON.stringify(body) };
    },
  };
}

const action = {
  type: 'redirect',
  method: 'GET',
  url: 'https://checkoutshopper-live.adyen.com/3ds',
  paymentMethodType: 'scheme',
};
const refusal = (refusalReasonCode: string): Fields => ({ resultCode: 'Refused', refusalReasonCode });

type Expected = readonly [present: string, absent: string, returned: string, saved: SetUpOutcome['outcome']];
const rows: readonly (readonly [what: string, answer: Fields, ...Expected])[] = [
  ['authorised', { resultCode: 'Authorised' }, 'prepared', 'prepared', 'prepared', 'set_up'],
  ['refused', refusal('2'), 'declined', 'declined', 'declined', 'declined'],
  ['not authenticated', refusal('11'), 'declined', 'declined', 'declined', 'declined'],
  ['authentication required', refusal('38'), 'declined', 'declined', 'declined', 'declined'],
  ['no answer of the directory', refusal('39'), 'declined', 'declined', 'declined', 'declined'],
  ['an error of the authentication', refusal('42'), 'declined', 'declined', 'declined', 'declined'],
  ['an unknown reason', refusal('999'), 'declined', 'declined', 'declined', 'declined'],
  ['an error', { resultCode: 'Error' }, 'declined', 'declined', 'declined', 'declined'],
  ['cancelled', { resultCode: 'Cancelled' }, 'declined', 'declined', 'declined', 'declined'],
  [
    'redirect',
    { resultCode: 'RedirectShopper', action },
    ...(['needs_customer', 'declined', 'needs_customer', 'needs_customer'] as const),
  ],
  [
    'redirect by POST',
    { resultCode: 'RedirectShopper', action: { ...action, method: 'POST', data: { MD: '1', PaReq: '2' } } },
    ...(['declined', 'declined', 'declined', 'declined'] as const),
  ],
  [
    'redirect without an action',
    { resultCode: 'RedirectShopper' },
    ...(['declined', 'declined', 'declined', 'declined'] as const),
  ],
  [
    'redirect to a script',
    { resultCode: 'RedirectShopper', action: { ...action, url: 'javascript:alert(1)' } },
    ...(['declined', 'declined', 'declined', 'declined'] as const),
  ],
  ['challenge in a script', { resultCode: 'ChallengeShopper' }, 'declined', 'declined', 'declined', 'declined'],
  ['fingerprint in a script', { resultCode: 'IdentifyShopper' }, 'declined', 'declined', 'declined', 'declined'],
  ['a voucher', { resultCode: 'PresentToShopper' }, 'declined', 'declined', 'declined', 'declined'],
  ['pending', { resultCode: 'Pending' }, 'unknown', 'unknown', 'needs_customer', 'needs_customer'],
  ['received', { resultCode: 'Received' }, 'unknown', 'unknown', 'needs_customer', 'needs_customer'],
  [
    'authenticated only',
    { resultCode: 'AuthenticationFinished' },
    ...(['unknown', 'unknown', 'needs_customer', 'needs_customer'] as const),
  ],
  [
    'no authentication needed',
    { resultCode: 'AuthenticationNotRequired' },
    ...(['unknown', 'unknown', 'needs_customer', 'needs_customer'] as const),
  ],
  ['a success of other methods', { resultCode: 'Success' }, 'unknown', 'unknown', 'needs_customer', 'needs_customer'],
  [
    'a result of the future',
    { resultCode: 'Pondered' },
    ...(['unknown', 'unknown', 'needs_customer', 'needs_customer'] as const),
  ],
  ['a part', { resultCode: 'PartiallyAuthorised' }, 'declined', 'declined', 'declined', 'needs_customer'],
];

describe('a result of Adyen', () => {
  it('has each of its values here', () => {
    const values = new Set(
      Object.values({ ...PaymentResponse.ResultCodeEnum, ...PaymentDetailsResponse.ResultCodeEnum }),
    );
    for (const value of values)
      assert.ok(
        rows.some(([, { resultCode }]) => resultCode === value),
        value,
      );
  });

  const amount = { value: 4900, currency: 'EUR' };
  const about = ({ companyId, reference }: ChargeRequest) => ({
    ...({
      companyId,
      reference,
      kind: 'charge',
      sent: { amount: 4900, currency: 'eur', last4: card.number.last4 },
    } as const),
  });
  const answerTo = ({ reference }: ChargeRequest, fields: Fields): Fields => ({
    ...{ merchantReference: reference, pspReference: 'F123', amount },
    ...fields,
  });
  for (const [what, fields, present, absent, returned, saved] of rows) {
    it(`${fields.resultCode}, ${what}: with the customer ${present}, without ${absent}`, async () => {
      const request = newCharge();
      const found = await prepare(stub(answerTo(request, fields)), { ...request, presence });
      assert.equal(found.outcome, present, inspect(found));
      const without = await prepare(stub(answerTo(request, fields)), request);
      assert.equal(without.outcome, absent, inspect(without));
    });
    it(`${fields.resultCode}, ${what}: after the return ${returned}, of a card ${saved}`, async () => {
      const request = newCharge();
      const client = stub(answerTo(request, fields));
      const found = await resume(client, { ...about(request), returned: { redirectResult: 'X' } });
      assert.equal(found.outcome, returned, inspect(found));
      assert.ok(!client.sent.some((path) => path.endsWith('captures')), 'nothing is captured without a stored handle');
      const answer = { ...answerTo(request, fields), amount: { value: 0, currency: 'EUR' } };
      const setUp = await setUpsOf(stub(answer), 'EUR').setUp({ ...request, presence });
      assert.equal(
        setUp.outcome,
        saved === 'needs_customer' && what === 'pending' ? 'needs_customer' : saved,
        inspect(setUp),
      );
    });
  }

  const hints: readonly (readonly [what: string, body: Fields, status: number, outcome: string])[] = [
    [
      'of another payment',
      { resultCode: 'Authorised', merchantReference: randomUUID(), pspReference: 'F1' },
      200,
      'needs_customer',
    ],
    ['of a payment that is not named', { resultCode: 'Authorised', pspReference: 'F1' }, 200, 'needs_customer'],
    [
      'of a refused payment that is not named',
      { resultCode: 'Refused', refusalReasonCode: '2' },
      200,
      'needs_customer',
    ],
    [
      'that is forged',
      { status: 422, errorCode: '14_018', errorType: 'validation', message: '' },
      422,
      'needs_customer',
    ],
    [
      'that was passed on before',
      { status: 422, errorCode: '704', errorType: 'validation', message: '' },
      422,
      'needs_customer',
    ],
    [
      'that is not understood',
      { status: 400, errorCode: '702', errorType: 'validation', message: '' },
      400,
      'needs_customer',
    ],
    ['with a wrong key', { status: 401, errorCode: '000', errorType: 'security', message: '' }, 401, 'unknown'],
    ['while Adyen fails', { status: 500, errorCode: '000', errorType: 'internal', message: '' }, 500, 'unknown'],
    ['while there are too many', {}, 429, 'unknown'],
    ['that is no JSON object', {}, 200, 'needs_customer'],
  ];
  for (const [what, body, status, outcome] of hints) {
    it(`a return ${what}: ${outcome}, and the customer is still awaited`, async () => {
      const found = await resume(stub(body, status), { ...about(newCharge()), returned: { redirectResult: 'X' } });
      assert.equal(found.outcome, outcome, inspect(found));
    });
  }

  it('a smaller authorization is not captured, whether an answer or a notice says so', async () => {
    const request = newCharge();
    const smaller = { ...answerTo(request, { resultCode: 'Authorised' }), amount: { value: 100, currency: 'EUR' } };
    const found = await resume(stub(smaller), { ...about(request), returned: { redirectResult: 'X' } });
    assert.equal(found.outcome, 'conflict', inspect(found));
    const nothing = { authorization_code: null, avs_result: null, cvv_result: null, networkTransactionId: null };
    const noticedHandle = handleOf({ pspReference: 'F1', amount: { value: 100, currency: 'EUR' }, ...nothing });
    const client = stub({});
    const noticed = await resume(client, { ...about(request), noticedHandle });
    assert.equal(noticed.outcome, 'declined', inspect(noticed));
    assert.deepEqual(client.sent, ['payments/F1/cancels']);
    const right = handleOf({ pspReference: 'F1', amount, ...nothing });
    assert.deepEqual(await resume(client, { ...about(request), noticedHandle: right }), {
      outcome: 'prepared',
      handle: right,
    });
    assert.equal((await resume(client, { ...about(request), noticedHandle: 'x' })).outcome, 'unknown');
  });

  it('keeps the result of the authentication in the handle', () => {
    const authorization = {
      ...{ pspReference: 'F1', amount, authorization_code: '1', avs_result: null, cvv_result: null },
      networkTransactionId: 'MCC,1|2',
    };
    for (const status of ['authenticated', 'attempted', 'exempted', 'failed', 'unavailable'] as const) {
      for (const liabilityShifted of [true, false, null]) {
        const authentication = { flow: 'challenge', status, liabilityShifted, version: '2.2.0', eci: null } as const;
        const known = { ...authorization, authentication };
        assert.deepEqual(readHandle(handleOf(known)), known);
      }
    }
    assert.equal(readHandle(`${handleOf(authorization)}|challenge,guessed,,,`), undefined);
  });
});

describe('a payment as Adyen gets it', () => {
  const sent = (changes: Partial<ChargeRequest>) =>
    authorizationOf(newCharge(changes), 'SvcECOM', { value: 4900, currency: 'EUR' });

  it('never asks for the customer who is not there', () => {
    const body = sent({});
    assert.deepEqual(body.authenticationData, { attemptAuthentication: 'never' });
    assert.deepEqual([body.channel, body.browserInfo, body.mpiData], [undefined, undefined, undefined]);
  });

  it('asks for a redirect of the customer who is there', () => {
    const body = sent({ presence });
    assert.deepEqual(body.authenticationData, { threeDSRequestData: { nativeThreeDS: 'disabled' } });
    assert.deepEqual(
      [body.returnUrl, body.origin, body.channel, body.redirectFromIssuerMethod, body.redirectToIssuerMethod],
      [presence.returnUrl, 'https://shop.example', 'Web', 'GET', 'GET'],
    );
    const { browser: _, ...withoutScript } = presence;
    assert.equal(sent({ presence: withoutScript }).browserInfo?.javaScriptEnabled, false);
  });

  it('has what a server of the merchant has found, and asks for nothing else', () => {
    const { mpiData, authenticationData } = sent({ authentication: external, presence });
    assert.deepEqual([mpiData?.cavv, mpiData?.directoryResponse, authenticationData], [external.cavv, 'Y', undefined]);
    assert.equal(sent({ authentication: { ...external, eci: '06' } }).mpiData?.directoryResponse, 'A');
  });
});

describe('the result of an authentication', () => {
  const table: readonly (readonly [fields: Fields, status: string | undefined, shift: boolean | null | undefined])[] = [
    [{ threeDAuthenticated: 'true', threeDAuthenticatedResponse: 'Y', liabilityShift: 'true' }, 'authenticated', true],
    [{ threeDAuthenticated: 'true', threeDAuthenticatedResponse: 'A', liabilityShift: 'true' }, 'attempted', true],
    [{ threeDAuthenticated: 'true' }, 'authenticated', null],
    [{ threeDOffered: 'true', threeDAuthenticated: 'false', threeDAuthenticatedResponse: 'N' }, 'failed', null],
    [{ threeDOffered: 'true', threeDAuthenticatedResponse: 'R', liabilityShift: 'false' }, 'failed', false],
    [{ threeDOffered: 'true', threeDAuthenticatedResponse: 'U' }, 'unavailable', null],
    [{ threeDOffered: 'true', threeDAuthenticated: 'false' }, 'unavailable', null],
    [{ threeDOffered: 'false', scaExemptionRequested: 'transactionRiskAnalysis' }, 'exempted', null],
    [{ threeDOffered: 'false', threeDAuthenticated: 'false' }, undefined, undefined],
    [{}, undefined, undefined],
  ];
  for (const [fields, status, shift] of table) {
    it(`${inspect(fields)}: ${status}`, () => {
      const { authentication } = authenticationIn(fields, 'challenge');
      assert.deepEqual([authentication?.status, authentication?.liabilityShifted], [status, shift]);
    });
  }
});
