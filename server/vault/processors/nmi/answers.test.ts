import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { inspect } from 'node:util';
import fc from 'fast-check';
import type { Answer, Silence } from '../exchange.ts';
import { checkConfiguration, ConfigurationProblem } from '../kind.ts';
import { failureCodes, failureReasons, noCodeReason } from '../processor.ts';
import { chargeIn, foundIn, hasStrayRefund, readingOf, verificationOf, voidIn } from './answers.ts';
import { meaningOf, responseCodes } from './codes.ts';
import { nmiKind } from './kind.ts';
import { minorUnits } from '../../../platform/currencies.ts';
import { loadReports } from './report.ts';

const reportOf = await loadReports();

const reference = '7b3f6c1e-order';
const number = '4242424242424242';
const key = 'Key4'.repeat(8);
const nowMs = Date.UTC(2026, 4, 5, 19, 36);

const answerWith = (text: string, status = 200): Answer => ({ status, headers: {}, text, askedAtMs: nowMs });
const form = (fields: Readonly<Record<string, string>>): Answer =>
  answerWith(new URLSearchParams({ authcode: '', avsresponse: '', cvvresponse: '', ...fields }).toString());
const sale = (fields: Readonly<Record<string, string>>): Answer =>
  form({ responsetext: 'DECLINE', transactionid: '5716156064', orderid: reference, type: 'sale', ...fields });
const rejected = (responsetext: string): Answer =>
  sale({ response: '3', response_code: '300', responsetext, transactionid: '', orderid: '' });

const approval = (fields: Readonly<Record<string, string>> = {}): Answer =>
  sale({ response: '1', response_code: '100', ...fields });
const rest = `response_code=100&orderid=${reference}&transactionid=5&type=sale`;

type AnswerRow = readonly [name: string, answer: Answer | Silence, says: string];

/** The letters and digits that NMI documents for the check of the address, and for that of the code. */
const addressLetters = 'X Y D M 2 6 A B 3 7 W Z P L 1 5 N C 4 8 U G I R E S 0 O'.split(' ');
const codeLetters = 'M N P S U'.split(' ');

/**
 * Answers to a sale of 49.00 as NMI's documents and public integrations show them, and what they say: an outcome with its failure
 * code, and whether a report must confirm.
 */
const documented: readonly AnswerRow[] = [
  ['approved', approval({ authcode: '123456', avsresponse: 'Y' }), 'approved'],
  ['approved with the full amount', approval({ amount_authorized: '49.00' }), 'approved'],
  ['approved in part', approval({ amount_authorized: '20.00' }), 'unknown, check'],
  [
    'declined by a rule of the gateway',
    sale({ response: '2', response_code: '300', responsetext: 'AVS REJECTED' }),
    'declined invalid_account',
  ],
  ['too many requests', sale({ response: '3', response_code: '301' }), 'not_sent'],
  ['a required CVC', rejected('CVV is required REFID:3'), 'declined invalid_merchant_configuration, fault'],
  ...Object.entries(responseCodes)
    .filter(([code, { isInDoubt, isNotExecuted }]) => code !== '300' && !isInDoubt && !isNotExecuted)
    .map(([code, { failureCode, isProcessorFault }]) => {
      const response = code.startsWith('2') ? '2' : '3';
      const says = `declined ${failureCode}${isProcessorFault ? ', fault' : ''}`;
      return [`code ${code}`, sale({ response, response_code: code }), says] as const;
    }),
  ['an unknown decline', sale({ response: '2', response_code: '299' }), 'declined unknown'],
  ['communication error', sale({ response: '3', response_code: '420' }), 'unknown, check'],
  ['communication error with issuer', sale({ response: '3', response_code: '421' }), 'unknown, check'],
  ['duplicate at processor', sale({ response: '3', response_code: '430' }), 'unknown, check'],
  ['duplicate', rejected('Duplicate transaction REFID:3174971726'), 'unknown, check'],
  [
    'duplicate that names the order',
    sale({ response: '3', response_code: '300', responsetext: 'Duplicate transaction REFID:1', transactionid: '0' }),
    'unknown, check',
  ],
  ['wrong key', rejected('Authentication Failed'), 'declined invalid_merchant_configuration, fault'],
  ['deleted key', rejected('Specified API key not found REFID:3'), 'declined invalid_merchant_configuration, fault'],
  [
    'currency of another account',
    rejected('The cc payment type [Visa] and/or currency [EUR] is not accepted REFID:3'),
    'declined invalid_merchant_configuration, fault',
  ],
  ['activity limit', rejected('Activity limit exceeded'), 'declined invalid_merchant_configuration, fault'],
  ['wrong number', rejected('Invalid Credit Card Number REFID:3162207528'), 'declined invalid_account'],
  ['expired', rejected('Card has expired REFID:3'), 'declined expired_card'],
  ['address rule', rejected('AVS REJECTED'), 'declined invalid_account'],
  ['CVC rule', rejected('CVV must be 3 or 4 digits REFID:3'), 'declined incorrect_cvv'],
  ['another rejection', rejected('The zip field is too long REFID:3'), 'declined validation_error'],
  ...addressLetters.map((letter): AnswerRow => [`address ${letter}`, approval({ avsresponse: letter }), 'approved']),
  ...codeLetters.map((letter): AnswerRow => [`code ${letter}`, approval({ cvvresponse: letter }), 'approved']),
  [
    'a processor that the account does not have',
    rejected('Invalid Processor ID REFID:3'),
    'declined invalid_merchant_configuration, fault',
  ],
];

/** The same, and answers that no document shows. */
const answers: readonly AnswerRow[] = [
  ...documented,
  ['approved, without a type', approval({ type: '' }), 'approved'],
  ['approved for another order', approval({ orderid: 'another' }), 'unknown'],
  ['approved without an order', approval({ orderid: '' }), 'unknown'],
  ['approved without a transaction', approval({ transactionid: '' }), 'unknown'],
  ['approved as transaction 0', approval({ transactionid: '0' }), 'unknown'],
  ['approved as a refund', approval({ type: 'refund' }), 'unknown'],
  ['approved with a declining code', sale({ response: '1', response_code: '200' }), 'unknown'],
  ['declined with the approving code', sale({ response: '2', response_code: '100' }), 'unknown'],
  ['declined with a code of errors', sale({ response: '2', response_code: '400' }), 'unknown'],
  ['an error with a code of declines', sale({ response: '3', response_code: '202' }), 'unknown'],
  ['declined for another order', sale({ response: '2', response_code: '202', orderid: 'another' }), 'unknown'],
  ['rejection of another order', sale({ response: '3', response_code: '300', orderid: 'another' }), 'unknown'],
  ['rejection of a void', sale({ response: '3', response_code: '300', type: 'void' }), 'unknown'],
  ['401', answerWith('', 401), 'declined invalid_merchant_configuration, fault'],
  ['403', answerWith('<html>', 403), 'declined invalid_merchant_configuration, fault'],
  ['409', answerWith('conflict', 409), 'unknown'],
  ['429', answerWith('Too Many Requests', 429), 'unknown'],
  ['500', answerWith('response=1&response_code=100', 500), 'unknown'],
  ['503', answerWith('', 503), 'unknown'],
  ['a redirect', answerWith('', 302), 'unknown'],
  ['HTML', answerWith('<!DOCTYPE html><html><body>response=1&response_code=100</body></html>'), 'unknown'],
  ['empty', answerWith(''), 'unknown'],
  ['cut', answerWith('response=1&responsetext=SUCCESS&authcode=1234'), 'unknown'],
  ['JSON', answerWith('{"response":"1","response_code":"100"}'), 'unknown'],
  ['two responses', answerWith(`response=1&response=2&${rest}`), 'unknown'],
  ['two orders', answerWith(`response=1&${rest}&orderid=x`), 'unknown'],
  ['no answer', { mayHaveArrived: true, reason: 'no response within 30000 ms' }, 'unknown'],
  ['no connection', { mayHaveArrived: false, reason: 'the connection failed: ECONNREFUSED' }, 'not_sent'],
];

function said({ outcome, mustCheck }: ReturnType<typeof readingOf>): string {
  const code = outcome.outcome === 'declined' ? ` ${outcome.failureCode}` : '';
  const fault = outcome.outcome === 'declined' && outcome.isProcessorFault ? ', fault' : '';
  return outcome.outcome + code + fault + (mustCheck ? ', check' : '');
}

const sentSale = { type: 'sale', reference, amount: '49.00' } as const;

describe('answers of transact.php', () => {
  it('the table has at least 60 documented rows, each once', () => {
    assert.ok(documented.length >= 60, `${documented.length} rows`);
    assert.equal(new Set(answers.map(([name]) => name)).size, answers.length);
  });

  for (const [names, field, shown] of [
    [addressLetters, 'avsresponse', 'avs_result'],
    [codeLetters, 'cvvresponse', 'cvv_result'],
  ] as const) {
    it(`passes every documented value of ${field} as it is`, () => {
      for (const letter of names) {
        const { outcome } = readingOf(approval({ [field]: letter }), sentSale);
        assert.ok(outcome.outcome === 'approved' && outcome.response[shown] === letter, letter);
      }
    });
  }

  for (const [name, answer, says] of answers) {
    it(`${name}: ${says}`, () => {
      const reading = readingOf(answer, sentSale);
      assert.equal(said(reading), says, inspect(reading));
      const { outcome } = reading;
      if (outcome.outcome !== 'declined') return;
      const usual = failureReasons[outcome.failureCode];
      const isAddress = outcome.response.response_text === 'AVS REJECTED';
      if (isAddress) assert.match(outcome.failureReason, /address/);
      else assert.equal(outcome.failureReason, outcome.wantsSecurityCode ? noCodeReason : usual);
    });
  }

  it('tells a wrong security code from a rule that wants one, by whether it was sent', () => {
    const answer = rejected('CVV REJECTED REFID:3');
    assert.equal(said(readingOf(answer, { ...sentSale, hasCode: true })), 'declined incorrect_cvv');
    const without = readingOf(answer, { ...sentSale, hasCode: false });
    assert.equal(said(without), 'declined invalid_merchant_configuration, fault');
    assert.ok(without.outcome.outcome === 'declined' && without.outcome.wantsSecurityCode);
  });

  it('passes the letters of AVS and CVV, the authorization code and the transaction id', () => {
    const fields = { response: '1', response_code: '100', authcode: 'A12345', avsresponse: 'Y', cvvresponse: 'M' };
    const { outcome } = readingOf(sale({ ...fields, responsetext: 'SUCCESS' }), sentSale);
    assert.deepEqual(outcome, {
      outcome: 'approved',
      settled: false,
      networkTransactionId: '5716156064',
      response: {
        transaction_id: '5716156064',
        authorization_code: 'A12345',
        avs_result: 'Y',
        cvv_result: 'M',
        response_code: '100',
        response_text: 'SUCCESS',
      },
    });
  });

  it('a refused refund or void must be checked, because it may be a repetition', () => {
    const refund = form({
      response: '3',
      response_code: '300',
      responsetext: 'Refund amount may not exceed the transaction balance',
      type: 'refund',
    });
    assert.equal(said(readingOf(refund, { type: 'refund', reference })), 'declined transaction_not_allowed, check');
    const voided = form({
      response: '3',
      response_code: '300',
      responsetext: 'Only transactions pending settlement can be voided',
      type: 'void',
      transactionid: '7',
    });
    const sent = { type: 'void', reference: null, transactionId: '7' } as const;
    assert.equal(said(readingOf(voided, sent)), 'declined transaction_not_allowed, check');
    assert.equal(said(readingOf(voided, { ...sent, transactionId: '8' })), 'unknown');
  });

  it('a refund or void whose key was refused was not executed, and needs no report', () => {
    const refused = form({ response: '3', response_code: '300', responsetext: 'Authentication Failed' });
    for (const type of ['refund', 'void'] as const) {
      const { outcome, mustCheck } = readingOf(refused, { type, reference: null });
      assert.ok(outcome.outcome === 'declined' && outcome.refusesCredentials && !mustCheck, inspect(outcome));
    }
  });

  it('a verification says nothing about the card if the account has a problem', () => {
    const validate = (fields: Readonly<Record<string, string>>) =>
      verificationOf(form({ type: 'validate', orderid: reference, transactionid: '5', ...fields }), reference);
    assert.equal(validate({ response: '1', response_code: '100' }).outcome, 'verified');
    assert.equal(validate({ response: '2', response_code: '225' }).outcome, 'declined');
    const refused = validate({ response: '3', response_code: '410' });
    assert.ok(refused.outcome === 'unknown' && refused.rejection?.startsWith('NMI refuses requests of the account'));
    const wrongKey = validate({
      response: '3',
      response_code: '300',
      responsetext: 'Authentication Failed',
      orderid: '',
    });
    assert.ok(wrongKey.outcome === 'unknown' && wrongKey.refusesCredentials);
    const other = validate({ response: '1', response_code: '100', orderid: 'another' });
    assert.ok(other.outcome === 'unknown' && other.rejection === undefined);
  });

  it('never shows a number or key that an answer quotes', () => {
    for (const [name, answer] of answers) {
      if ('reason' in answer) continue;
      const fields = new URLSearchParams(answer.text);
      for (const field of ['responsetext', 'authcode', 'avsresponse', 'cvvresponse', 'extra']) {
        fields.set(field, `${fields.get(field) ?? ''} ${number} ${number.replace(/(.{4})/g, '$1 ')} ${key}`);
      }
      for (const text of [fields.toString(), `${answer.text} ${number} ${key}`]) {
        const shown = inspect(readingOf({ ...answer, text }, sentSale), { depth: 9 });
        for (const secret of [number, '4242 4242', key]) assert.ok(!shown.includes(secret), `${name}: ${shown}`);
      }
    }
  });

  it('an arbitrary answer never becomes approved or declined', () => {
    const status = fc
      .oneof(fc.constant(200), fc.integer({ min: 100, max: 599 }))
      .filter((code) => code !== 401 && code !== 403);
    const names = [
      'response',
      'responsetext',
      'response_code',
      'transactionid',
      'type',
      'authcode',
      'amount_authorized',
    ];
    const known = ['1', '2', '3', '100', '200', '300', 'sale', '', 'valueOf', 'constructor'];
    const values = fc.oneof(fc.constantFrom(...known), fc.string());
    const strange = fc.string({ minLength: 1 }).filter((text) => text.trim() !== reference);
    const fields = fc
      .tuple(fc.dictionary(fc.constantFrom(...names), values), strange)
      .map(([given, orderid]) => new URLSearchParams({ ...given, orderid }).toString());
    fc.assert(
      fc.property(status, fc.oneof(fc.string(), fields), (code, text) => {
        const { outcome } = readingOf(answerWith(text, code), sentSale).outcome;
        assert.equal(outcome, 'unknown');
      }),
      { numRuns: 2_000 },
    );
  });
});

interface XmlAction {
  readonly type?: string;
  readonly amount?: string;
  readonly success?: string;
  readonly code?: string;
  readonly text?: string;
  readonly date?: string;
}

const actionXml = ({
  type = 'sale',
  amount = '49.00',
  success = '1',
  code = '100',
  text = 'SUCCESS',
  date = '20260505193542',
}: XmlAction): string =>
  `<action><amount>${amount}</amount><action_type>${type}</action_type><date>${date}</date><success>${success}</success>` +
  `<response_text>${text}</response_text><response_code>${code}</response_code></action>`;

interface XmlTransaction {
  readonly id?: string;
  readonly order?: string;
  readonly condition?: string;
  readonly currency?: string;
  readonly original?: string;
  readonly actions?: readonly XmlAction[];
}

const transactionXml = ({
  id = '12030573544',
  order = reference,
  condition = 'pendingsettlement',
  currency = 'USD',
  original,
  actions = [{}],
}: XmlTransaction): string =>
  `<transaction><transaction_id>${id}</transaction_id><condition>${condition}</condition><order_id>${order}</order_id>` +
  `<currency>${currency}</currency><cc_number>4xxxxxxxxxxx4242</cc_number>` +
  (original ? `<original_transaction_id>${original}</original_transaction_id>` : '') +
  `${actions.map(actionXml).join('')}</transaction>`;

const report = (...transactions: readonly XmlTransaction[]): string =>
  `<?xml version="1.0" encoding="UTF-8"?><nm_response>${transactions.map(transactionXml).join('')}</nm_response>`;

const sent = { amount: 4900, currency: 'usd', last4: '4242' };

/** As the adapter looks: undefined if the report is not understood. */
function look(xml: string, status = 200, kind: 'charge' | 'refund' = 'charge', sought: object = {}): string {
  const read = reportOf({ status, text: xml });
  if (!read || !('transactions' in read)) return 'unknown';
  const found = foundIn(read.transactions, kind, { reference, sent, ...sought }, nowMs);
  if (!found) return 'not_found';
  return (
    found.outcome +
    ('failureCode' in found ? ` ${found.failureCode}` : '') +
    ('settled' in found && found.settled ? ', settled' : '')
  );
}

const failed = (code: string, text = 'DECLINE'): string =>
  report({ condition: 'failed', actions: [{ success: '0', code, text }] });

/** A sale with another action after it. */
const acted = (condition: string, action: XmlAction): string => report({ condition, actions: [{}, action] });
const declinedFirst = { id: '1', condition: 'failed', actions: [{ success: '0', code: '201' }] };

const reports: readonly (readonly [name: string, xml: string, says: string, status?: number])[] = [
  ['pending settlement', report({}), 'approved'],
  ['complete', acted('complete', { type: 'settle' }), 'approved, settled'],
  ['a charge with a refund in it', acted('complete', { type: 'refund', amount: '-5.00' }), 'approved, settled'],
  ['failed for want of funds', failed('202'), 'declined insufficient_funds'],
  ['failed as duplicate', failed('300', 'Duplicate transaction REFID:1'), 'declined duplicate_transaction'],
  ['failed with an unknown code', failed('999'), 'declined unknown'],
  ['failed at settlement', acted('failed', { type: 'settle', success: '0' }), 'declined processor_declined'],
  ['voided', acted('canceled', { type: 'void', success: '' }), 'declined processor_declined'],
  ['taken, but without success', report({ actions: [{ success: '0' }] }), 'unknown'],
  ['taken, success not given', report({ actions: [{ success: '' }] }), 'unknown'],
  ['failed, success not given', report({ condition: 'failed', actions: [{ success: '' }] }), 'unknown'],
  ['only authorized', report({ condition: 'pending', actions: [{ type: 'auth' }] }), 'unknown'],
  ['in progress', report({ condition: 'in_progress' }), 'unknown'],
  ['unknown to NMI', report({ condition: 'unknown' }), 'unknown'],
  ['two sales in one', report({ actions: [{}, {}] }), 'unknown'],
  ['no action', report({ actions: [] }), 'unknown'],
  ['executed twice', report({ id: '1' }, { id: '2' }), 'unknown'],
  ['declined, then approved', report(declinedFirst, { id: '2' }), 'approved'],
  ['declined, then in doubt', report(declinedFirst, { id: '2', condition: 'unknown' }), 'unknown'],
  ['another amount', report({ actions: [{ amount: '49.01' }] }), 'conflict'],
  ['another currency', report({ currency: 'EUR' }), 'conflict'],
  ['another order', report({ order: 'another' }), 'unknown'],
  ['nothing', '<?xml version="1.0"?><nm_response></nm_response>', 'not_found'],
  ['nothing, in short', '<nm_response/>', 'not_found'],
  [
    'an error',
    '<nm_response><error_response>Specified API key not found REFID:1</error_response></nm_response>',
    'unknown',
  ],
  [
    'an error with a transaction',
    report({}).replace('</nm_response>', '<error_response>x</error_response></nm_response>'),
    'unknown',
  ],
  ['empty', '', 'unknown'],
  ['a message', '<nm_response><message>Maintenance</message></nm_response>', 'unknown'],
  ['a prototype', '<nm_response><__proto__><transaction></transaction></__proto__></nm_response>', 'unknown'],
  ['deep nesting', `<nm_response>${'<a>'.repeat(50_000)}${'</a>'.repeat(50_000)}</nm_response>`, 'unknown'],
  ['HTML', '<!DOCTYPE html><html><body><br></body></html>', 'unknown'],
  ['XHTML', '<html><body></body></html>', 'unknown'],
  ['cut before the transaction', report({}).slice(0, 60), 'unknown'],
  ['cut within the transaction', report({}).slice(0, -40), 'unknown'],
  ['a transaction without an id', report({}).replace('<transaction_id>12030573544</transaction_id>', ''), 'unknown'],
  ['two conditions', report({}).replace('<condition>', '<condition>failed</condition><condition>'), 'unknown'],
  ['nested values', report({}).replace('pendingsettlement', '<a>pendingsettlement</a>'), 'unknown'],
  [
    'an entity',
    `<!DOCTYPE a [<!ENTITY c "complete">]>${report({ condition: '&c;' }).replace(/^<\?.*?\?>/, '')}`,
    'unknown',
  ],
  ['two roots', `${report({})}<nm_response></nm_response>`, 'unknown'],
  ['429', report({}), 'unknown', 429],
  ['500', report({}), 'unknown', 500],
  ['404', '<nm_response></nm_response>', 'unknown', 404],
];

describe('reports of query.php', () => {
  for (const [name, xml, says, status] of reports) {
    it(`${name}: ${says}`, () => assert.equal(look(xml, status), says));
  }

  it('a refund counts only with our order id, amount, currency and charge', () => {
    const refund = {
      id: '9',
      condition: 'complete',
      original: '12030573544',
      actions: [{ type: 'refund', amount: '-49.00' }],
    };
    const charge = { chargeTransactionId: '12030573544' };
    assert.equal(look(report(refund), 200, 'refund', charge), 'approved, settled');
    assert.equal(look(report(refund), 200, 'refund', { chargeTransactionId: '1' }), 'conflict');
    assert.equal(look(report({ ...refund, currency: 'CAD' }), 200, 'refund', charge), 'conflict');
    assert.equal(
      look(report({ ...refund, condition: 'canceled' }), 200, 'refund', charge),
      'declined processor_declined',
    );
    assert.equal(look(report({}), 200, 'refund', charge), 'unknown', 'the charge is not the refund');
    assert.equal(look(report(refund), 200, 'charge'), 'unknown', 'the refund is not the charge');
  });

  it('a void is the void of its charge, and nothing else', () => {
    const read = (transaction: XmlTransaction) => {
      const found = reportOf({ status: 200, text: report(transaction) });
      assert.ok(found && 'transactions' in found);
      const charge = chargeIn(found.transactions, { chargeReference: reference });
      return charge && voidIn(charge, nowMs)?.outcome;
    };
    assert.equal(read({ condition: 'canceled', actions: [{}, { type: 'void' }] }), 'approved');
    assert.equal(read({ condition: 'pendingsettlement' }), undefined);
    assert.equal(
      read({ condition: 'complete', actions: [{}, { type: 'void', success: '0', code: '300' }] }),
      undefined,
    );
    assert.equal(read({ order: 'another', condition: 'canceled' }), undefined);
  });

  it('a refund without our order id is ours perhaps, unless its amount, its time or its charge is another', () => {
    const stray = (refund: XmlTransaction, request: object = {}): boolean => {
      const found = reportOf({ status: 200, text: report({}, { id: '9', ...refund }) });
      assert.ok(found && 'transactions' in found);
      const charge = chargeIn(found.transactions, { chargeReference: reference });
      assert.ok(charge);
      return hasStrayRefund(found.transactions, charge, { sent, ageMs: 60_000, nowMs, ...request });
    };
    const refund = { actions: [{ type: 'refund', amount: '-49.00' }] };
    assert.equal(stray(refund), true);
    assert.equal(stray({ ...refund, order: '' }), true);
    assert.equal(stray({ ...refund, order: 'its-own-order' }), false);
    assert.equal(stray({ ...refund, original: '1' }), false);
    assert.equal(stray({ actions: [{ type: 'refund', amount: '-48.00' }] }), false);
    assert.equal(
      stray({ actions: [{ type: 'refund', amount: '-49.00', date: '20260505192900' }] }),
      false,
      'before we sent ours',
    );
    assert.equal(stray({ actions: [{ type: 'refund', amount: '-49.00', success: '0' }] }), false);
    assert.equal(stray(refund, { sent: undefined, ageMs: undefined }), true);
  });

  it('an arbitrary report never becomes an outcome', () => {
    const words = fc.constantFrom(
      '<nm_response>',
      '</nm_response>',
      '<transaction>',
      '</transaction>',
      '<action>',
      '</action>',
      '<condition>complete</condition>',
      '<success>1</success>',
      '&lt;',
      '<![CDATA[',
      ']]>',
      '<!--',
      '\0',
    );
    const text = fc.oneof(
      fc.string(),
      fc.array(fc.oneof(words, fc.string({ maxLength: 5 })), { maxLength: 12 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, (xml) => {
        assert.ok(['unknown', 'not_found'].includes(look(xml)), xml);
        if (look(xml) === 'not_found') assert.match(xml, /nm_response/);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('the table of codes', () => {
  it('uses only failure codes that exist, and is on the page for merchants', () => {
    const page = readFileSync(new URL('../../../../docs/processors/nmi.md', import.meta.url), 'utf8');
    for (const [code, { failureCode, meaning, isProcessorFault }] of Object.entries(responseCodes)) {
      assert.ok(failureCodes.includes(failureCode));
      const row = `| ${code} | ${meaning} | \`${failureCode}\` | ${isProcessorFault ? 'yes' : 'no'} |`;
      assert.ok(page.includes(row), row);
    }
    assert.equal(meaningOf('777', '').failureCode, 'unknown');
  });

  it('amounts are read in the decimals of their currency', () => {
    assert.deepEqual(
      ['49.00', '-49.00', '49', '49.5', '0.05'].map((text) => minorUnits(text, 'usd')),
      [4900, 4900, 4900, 4950, 5],
    );
    assert.deepEqual(
      ['1250', '1250.00', '12.5'].map((text) => minorUnits(text, 'jpy')),
      [1250, 1250, undefined],
    );
    for (const text of ['', 'x', '1e3', '1,000.00', '49.001', ' 49.00'])
      assert.equal(minorUnits(text, 'usd'), undefined);
  });
});

describe('the configuration', () => {
  const open = (entered: Record<string, string>) =>
    nmiKind.open(checkConfiguration(nmiKind, entered), { timeoutMs: 1_000, extraOrigins: [] });
  const problem = (entered: Record<string, string>): string => {
    try {
      open(entered);
    } catch (error) {
      assert.ok(error instanceof ConfigurationProblem);
      for (const value of Object.values(entered)) assert.ok(value.length < 10 || !error.message.includes(value));
      return `${error.field} ${error.message}`;
    }
    return 'none';
  };

  it('takes a security key, currencies, and the hosts of NMI and its resellers', () => {
    assert.equal(problem({ security_key: key }), 'none');
    assert.equal(problem({ security_key: key, currencies: 'usd, CAD' }), 'none');
    for (const api_url of ['https://secure.networkmerchants.com', 'https://payroc.transactiongateway.com']) {
      assert.equal(problem({ security_key: key, api_url }), 'none');
    }
  });

  it('refuses other keys, hosts and currencies in words', () => {
    assert.match(problem({}), /^security_key is required/);
    assert.match(
      problem({ security_key: 'a1b2c3-d4e5f6-a1b2c3-d4e5f6' }),
      /^security_key must be a private security key/,
    );
    assert.match(problem({ security_key: 'checkout_public_a1b2c3d4e5f6a1b2c3' }), /^security_key must be a private/);
    assert.match(problem({ security_key: key, currencies: 'dollars' }), /^currencies must be codes of three letters/);
    assert.match(problem({ security_key: key, currencies: 'usd, xxx' }), /^currencies contains xxx/);
    for (const api_url of [
      'https://evil.example',
      'http://secure.nmi.com',
      'https://a.b.transactiongateway.com',
      'https://secure.nmi.com@evil.example',
    ]) {
      assert.match(problem({ security_key: key, api_url }), /^api_url must be/);
    }
  });
});
