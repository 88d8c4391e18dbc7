import { isIP } from 'node:net';

/** The optional fields of a charge, which describe it. The simulator checks their format, and keeps none of them. */

type Fields = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

const isText = (value: unknown, form: RegExp): boolean => typeof value === 'string' && form.test(value);
const oneOf =
  (...allowed: readonly string[]): Check =>
  (value) =>
    typeof value === 'string' && allowed.includes(value);
const textOrNull: Check = (value) => value === null || isText(value, /^[^]{1,500}$/);
const countOrNull: Check = (value) => value === null || (Number.isInteger(value) && Number(value) >= 0);
const countryOrNull: Check = (value) => value === null || isText(value, /^[A-Z]{2}$/);

const address: Readonly<Record<string, Check>> = {
  name: textOrNull,
  phone: textOrNull,
  line1: textOrNull,
  line2: textOrNull,
  city: textOrNull,
  state: textOrNull,
  postal_code: textOrNull,
  country: countryOrNull,
};

/** All fields, and no others. */
const objectOf =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    Object.keys(value).every((name) => Object.hasOwn(fields, name)) &&
    Object.entries(fields).every(([name, check]) => check((value as Fields)[name]));

const checks: Readonly<Record<string, Check>> = {
  initiator: oneOf('customer', 'merchant'),
  sequence: oneOf('first', 'subsequent', 'unscheduled'),
  network_transaction_id: textOrNull,
  security_code: (value) => isText(value, /^\d{3,4}$/),
  billing: objectOf({ ...address, email: (value) => value === null || isText(value, /^[^@\s]+@[^@\s]+$/) }),
  shipping: objectOf(address),
  return_url: (value) => typeof value === 'string' && URL.canParse(value) && /^https?:/.test(value),
  browser: objectOf({
    user_agent: (value) => isText(value, /^[^]{1,2000}$/),
    accept_header: (value) => isText(value, /^[^]{1,2000}$/),
    language: textOrNull,
    color_depth: countOrNull,
    screen_height: countOrNull,
    screen_width: countOrNull,
    time_zone_offset_minutes: (value) => value === null || Number.isInteger(value),
  }),
  external_authentication: objectOf({
    cavv: (value) => typeof value === 'string' && Buffer.from(value, 'base64').length === 20,
    eci: (value) => isText(value, /^0[0-7]$/),
    directory_server_id: (value) => isText(value, /^[0-9a-fA-F-]{36}$/),
    version: (value) => isText(value, /^2\.\d\.\d$/),
  }),
  starts_series: (value) => typeof value === 'boolean',
  customer_ip: (value) => typeof value === 'string' && isIP(value) !== 0,
  statement_descriptor: (value) => isText(value, /^[A-Za-z0-9 .,'_?+*/&-]{1,22}$/),
};

export const isDescribed = (body: Fields): boolean =>
  Object.entries(checks).every(([name, check]) => body[name] === undefined || check(body[name]));
