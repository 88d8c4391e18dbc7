import { isAmount } from './books.ts';

/** The fields that the simulator NMI takes, and their forms. */

const cardNames = ['ccnumber', 'ccexp'];
const personNames = 'first_name last_name address1 address2 city state zip country phone email'.split(' ');
const shippingNames = 'firstname lastname address1 address2 city state zip country'
  .split(' ')
  .map((name) => `shipping_${name}`);
const credentialNames = ['initiated_by', 'stored_credential_indicator', 'initial_transaction_id', 'billing_method'];
/** What a 3DS server of the merchant has found: all of them, or none. */
const authenticationNames = ['cardholder_auth', 'cavv', 'eci', 'three_ds_version', 'directory_server_id'];
const common = ['type', 'security_key'];
/** The fields that each type takes; those before the bar are required. NMI ignores others, but we want to know. */
const saleNames: readonly [required: readonly string[], optional: readonly string[]] = [
  [...common, ...cardNames, 'amount'],
  [
    'orderid',
    'currency',
    'dup_seconds',
    'processor_id',
    'cvv',
    'descriptor',
    'ipaddress',
    ...personNames,
    ...shippingNames,
    ...credentialNames,
    ...authenticationNames,
  ],
];
const fieldNames: Readonly<Record<string, readonly [required: readonly string[], optional: readonly string[]]>> = {
  sale: saleNames,
  auth: saleNames,
  validate: [
    [...common, ...cardNames],
    ['orderid', 'cvv', 'processor_id', ...personNames, ...credentialNames],
  ],
  capture: [[...common, 'transactionid', 'amount'], ['orderid']],
  refund: [
    [...common, 'transactionid'],
    ['amount', 'orderid'],
  ],
  void: [[...common, 'transactionid'], []],
};
export const queryNames = [
  'security_key',
  'order_id',
  'transaction_id',
  'report_type',
  'processor_details',
  'start_date',
  'end_date',
  'result_limit',
];

function authenticationProblem(fields: URLSearchParams): string | undefined {
  const given = authenticationNames.filter((name) => fields.has(name));
  if (given.length === 0) return undefined;
  const missing = authenticationNames.find((name) => !fields.has(name));
  if (missing !== undefined) return `The ${missing} field is required`;
  if (!['verified', 'attempted'].includes(fields.get('cardholder_auth') ?? '')) return 'Invalid Cardholder Auth';
  if (Buffer.from(fields.get('cavv') ?? '', 'base64').length !== 20) return 'Invalid CAVV';
  return /^[0-9a-f-]{36}$/i.test(fields.get('directory_server_id') ?? '') ? undefined : 'Invalid Directory Server ID';
}

/** Returns why NMI rejects the fields; undefined if it takes them. */
export function fieldProblem(fields: URLSearchParams): string | undefined {
  const type = fields.get('type') ?? '';
  const [required, optional] = fieldNames[type] ?? [];
  if (!required || !optional) return 'Invalid Transaction Type';
  const names = [...fields.keys()];
  const strange = names.find((name) => ![...required, ...optional].includes(name));
  if (strange !== undefined) return `Unknown field ${strange}`;
  if (new Set(names).size < names.length) return 'Field sent twice';
  const missing = required.find((name) => !fields.get(name));
  if (missing !== undefined) return `The ${missing} field is required`;
  if (['sale', 'auth'].includes(type) && !isAmount(fields.get('amount') ?? '', fields.get('currency') ?? 'USD'))
    return 'Invalid amount';
  if (fields.has('ccnumber') && !/^\d{12,19}$/.test(fields.get('ccnumber') ?? '')) return 'Invalid Credit Card Number';
  if (fields.has('ccexp') && !/^(0[1-9]|1[0-2])\d\d$/.test(fields.get('ccexp') ?? '')) return 'Invalid expiration date';
  if (fields.has('cvv') && !/^\d{3,4}$/.test(fields.get('cvv') ?? '')) return 'CVV must be 3 or 4 digits';
  const authentication = authenticationProblem(fields);
  if (authentication !== undefined) return authentication;
  const long = names.find((name) => (fields.get(name) ?? '').length > 255);
  return long === undefined ? undefined : `The ${long} field is too long`;
}
