/** What the simulated Stripe checks about each request before it executes it. */

export interface Refusal {
  readonly status: number;
  readonly body: { readonly error: Readonly<Record<string, unknown>> };
}

export function refusal(status: number, message: string, fields: Readonly<Record<string, unknown>> = {}): Refusal {
  return { status, body: { error: { type: 'invalid_request_error', message, ...fields } } };
}

/** An object in the path is not found; one in the body makes the request invalid. */
export function missing(what: string, id: string, status: 400 | 404 = 404): Refusal {
  return refusal(status, `No such ${what}: '${id}'`, {
    code: 'resource_missing',
    param: status === 400 ? what : 'id',
  });
}

export const metadataOf = (form: URLSearchParams): Record<string, string> =>
  Object.fromEntries(
    [...form].flatMap(([name, value]) => {
      const key = /^metadata\[(.+)\]$/.exec(name)?.[1];
      return key === undefined ? [] : [[key, value]];
    }),
  );

interface Rule {
  /** The names of allowed parameters; `*` stands for any name in brackets. */
  readonly allowed: readonly string[];
  readonly required: readonly string[];
}

const threeDSecureFields = [
  ...['cryptogram', 'transaction_id', 'version', 'electronic_commerce_indicator', 'ares_trans_status'],
].map((name) => `payment_method_options[card][three_d_secure][${name}]`);

const address = ['line1', 'line2', 'city', 'state', 'postal_code', 'country'];

const rules: Readonly<Record<string, Rule>> = {
  customers: { allowed: ['metadata[*]', 'description', 'expand[*]'], required: [] },
  'customers/update': { allowed: ['metadata[*]', 'description', 'expand[*]'], required: [] },
  'customers/delete': { allowed: [], required: [] },
  'payment_methods/attach': { allowed: ['customer', 'expand[*]'], required: ['customer'] },
  payment_methods: {
    allowed: [
      'type',
      ...['number', 'exp_month', 'exp_year', 'cvc'].map((name) => `card[${name}]`),
      ...['name', 'email', 'phone'].map((name) => `billing_details[${name}]`),
      ...address.map((name) => `billing_details[address][${name}]`),
    ],
    required: ['type', 'card[number]', 'card[exp_month]', 'card[exp_year]'],
  },
  payment_intents: {
    allowed: [
      ...['amount', 'currency', 'customer', 'statement_descriptor_suffix', 'capture_method'],
      ...['allowed_payment_method_types[*]', 'metadata[*]'],
    ],
    required: ['amount', 'currency'],
  },
  'payment_intents/confirm': {
    allowed: [
      ...['payment_method', 'error_on_requires_action', 'off_session', 'setup_future_usage', 'expand[*]'],
      'return_url',
      ...threeDSecureFields,
      ...['name', 'phone'].map((name) => `shipping[${name}]`),
      ...address.map((name) => `shipping[address][${name}]`),
      ...['stored_credential_usage', 'setup_credential_usage'].map((name) => `payment_method_options[card][${name}]`),
    ],
    required: [],
  },
  'payment_intents/capture': { allowed: ['amount_to_capture', 'metadata[*]', 'expand[*]'], required: [] },
  'payment_intents/cancel': { allowed: ['cancellation_reason', 'expand[*]'], required: [] },
  refunds: { allowed: ['payment_intent', 'amount', 'metadata[*]', 'expand[*]'], required: ['payment_intent'] },
  setup_intents: {
    allowed: [
      ...['payment_method', 'allowed_payment_method_types[*]', 'confirm', 'usage', 'metadata[*]', 'expand[*]'],
      ...['customer', 'return_url'],
      ...['request_three_d_secure', 'setup_credential_usage'].map((name) => `payment_method_options[card][${name}]`),
      ...threeDSecureFields,
    ],
    required: [],
  },
  'setup_intents/cancel': { allowed: ['cancellation_reason', 'expand[*]'], required: [] },
  disputes: { allowed: ['evidence[*]', 'submit', 'metadata[*]', 'expand[*]'], required: [] },
  'disputes/close': { allowed: ['expand[*]'], required: [] },
  files: { allowed: ['purpose', 'file'], required: ['purpose', 'file'] },
};

const choices: Readonly<Record<string, readonly string[]>> = {
  type: ['card'],
  capture_method: ['automatic', 'automatic_async', 'manual'],
  off_session: ['true', 'false', 'one_off', 'recurring'],
  setup_future_usage: ['off_session', 'on_session'],
  cancellation_reason: ['duplicate', 'fraudulent', 'requested_by_customer', 'abandoned'],
  usage: ['off_session', 'on_session'],
  purpose: ['dispute_evidence'],
  'payment_method_options[card][request_three_d_secure]': ['any', 'automatic', 'challenge'],
  'payment_method_options[card][three_d_secure][version]': ['1.0.2', '2.1.0', '2.2.0', '2.3.0', '2.3.1'],
  'payment_method_options[card][three_d_secure][electronic_commerce_indicator]': ['01', '02', '05', '06', '07'],
  'payment_method_options[card][three_d_secure][ares_trans_status]': ['A', 'C', 'I', 'N', 'R', 'U', 'Y'],
  'payment_method_options[card][stored_credential_usage]': ['installment', 'recurring', 'unscheduled'],
  'payment_method_options[card][setup_credential_usage]': ['installment', 'recurring', 'unscheduled'],
};

const currencies = ['usd', 'eur', 'gbp', 'jpy', 'kwd', 'isk', 'mga'];
const smallestAmount = 50;
const keyLengthMax = 255;

function luhn(number: string): boolean {
  const sum = [...number].toReversed().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 1 ? 2 : 1);
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

/** Returns why a request is refused; the result is not saved under its key, since nothing was executed. */
export function checkRequest(route: string, form: URLSearchParams, key: string | undefined): Refusal | undefined {
  if (key !== undefined && (key.length > keyLengthMax || key === '')) {
    return refusal(400, 'Idempotency keys must be at most 255 characters.');
  }
  const rule = rules[route];
  if (!rule) return refusal(404, 'Unrecognized request URL.');
  const isAllowed = (name: string): boolean =>
    rule.allowed.includes(name) || rule.allowed.includes(name.replace(/\[[^\]]*\]$/, '[*]'));
  for (const [name, value] of form) {
    if (!isAllowed(name))
      return refusal(400, `Received unknown parameter: ${name}`, { code: 'parameter_unknown', param: name });
    const allowed = choices[name];
    if (allowed && !allowed.includes(value)) return refusal(400, `Invalid ${name}`, { param: name });
    if (value === '') return refusal(400, `Empty ${name}`, { code: 'parameter_invalid_empty', param: name });
    if (name.startsWith('metadata[') && (value.length > 500 || name.length > 50)) {
      return refusal(400, 'Metadata values can have up to 500 characters.', { param: name });
    }
  }
  const absent = rule.required.find((name) => !form.has(name));
  if (absent) return refusal(400, `Missing required param: ${absent}.`, { code: 'parameter_missing', param: absent });
  return checkReturnUrl(form) ?? checkThreeDSecure(form) ?? checkAmount(form) ?? checkCard(form);
}

function checkReturnUrl(form: URLSearchParams): Refusal | undefined {
  const url = form.get('return_url');
  if (url === null || (URL.canParse(url) && /^https?:/.test(url))) return undefined;
  return refusal(400, 'Not a valid URL', { code: 'url_invalid', param: 'return_url' });
}

/** All of them, or none. */
function checkThreeDSecure(form: URLSearchParams): Refusal | undefined {
  const given = threeDSecureFields.filter((name) => form.has(name));
  const absent = threeDSecureFields.slice(0, 3).find((name) => given.length > 0 && !form.has(name));
  if (absent) return refusal(400, `Missing required param: ${absent}.`, { code: 'parameter_missing', param: absent });
  const cryptogram = form.get(threeDSecureFields[0] ?? '');
  if (cryptogram === null || Buffer.from(cryptogram, 'base64').length === 20) return undefined;
  const param = threeDSecureFields[0];
  return refusal(400, 'The cryptogram must be 20 bytes, in base64.', { code: 'parameter_invalid_string', param });
}

function checkAmount(form: URLSearchParams): Refusal | undefined {
  const amount = form.get('amount');
  if (amount === null) return undefined;
  const param = 'amount';
  if (!/^\d+$/.test(amount))
    return refusal(400, `Invalid integer: ${amount}`, { code: 'parameter_invalid_integer', param });
  const currency = form.get('currency');
  if (currency === null) return undefined;
  if (!currencies.includes(currency)) return refusal(400, `Invalid currency: ${currency}.`, { param: 'currency' });
  if (Number(amount) < smallestAmount) {
    return refusal(400, 'Amount must convert to at least 50 cents.', { code: 'amount_too_small', param });
  }
  if (amount.length > 8)
    return refusal(400, 'Amount must be no more than 999,999.99.', { code: 'amount_too_large', param });
  const isWhole = currency === 'isk' ? amount.endsWith('00') : currency !== 'kwd' || amount.endsWith('0');
  return isWhole ? undefined : refusal(400, 'Invalid amount.', { code: 'invalid_charge_amount', param });
}

function checkCard(form: URLSearchParams): Refusal | undefined {
  const number = form.get('card[number]');
  if (number === null) return undefined;
  const decline = (code: string, message: string): Refusal => refusal(402, message, { type: 'card_error', code });
  if (!/^\d{12,19}$/.test(number) || !luhn(number))
    return decline('incorrect_number', 'Your card number is incorrect.');
  const month = Number(form.get('card[exp_month]'));
  if (!(month >= 1 && month <= 12)) return decline('invalid_expiry_month', "Your card's expiration month is invalid.");
  const year = Number(form.get('card[exp_year]'));
  if (!(year >= 2020 && year <= 2099)) return decline('invalid_expiry_year', "Your card's expiration year is invalid.");
  const cvc = form.get('card[cvc]');
  if (cvc !== null && !/^\d{3,4}$/.test(cvc)) return decline('invalid_cvc', "Your card's security code is invalid.");
  return undefined;
}
