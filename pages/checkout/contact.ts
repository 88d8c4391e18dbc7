import { countries } from '../../server/platform/countries.ts';
import { byId, element, filled } from '../shared/dom.ts';
import { inWords, pageLocale } from '../shared/page-texts.ts';
import { createInput, type Input } from '../shared/inputs.ts';
import type { Problem } from '../shared/requests.ts';
import { isPhone, withCountryCode } from './phone.ts';
import type { Payment, Session } from './session.ts';
import { texts } from './texts.ts';

/** Who buys, and where it is sent. */

export interface Contact {
  readonly inputs: readonly Input[];
  details(): Pick<Payment, 'customer' | 'shipping'>;
  /** Shows the problems that the service found. Returns the first input with one. */
  showProblems(problems: Problem['field_errors']): Input | undefined;
}

const required =
  (text: string) =>
  (value: string): string | undefined =>
    value === '' ? text : undefined;

/** The fields of the service by the inputs of the page. */
const fieldNames: Readonly<Record<string, string>> = {
  email: 'customer.email',
  'first-name': 'customer.first_name',
  'last-name': 'customer.last_name',
  phone: 'customer.phone',
  company: 'customer.company',
  'tax-id': 'customer.tax_id',
  recipient: 'shipping.name',
  country: 'shipping.country',
  line1: 'shipping.line1',
  line2: 'shipping.line2',
  city: 'shipping.city',
  state: 'shipping.state',
  'postal-code': 'shipping.postal_code',
};

export function showAsked({ customer, collect }: Pick<Session, 'customer' | 'collect'>): void {
  byId('shipping-section').hidden = !collect.includes('shipping');
  byId('company-field').hidden = !collect.includes('company') || customer !== null;
  byId('contact-fields').hidden = customer !== null;
}

/** As names are written in Japanese. */
function putFamilyNameFirst(): void {
  const [given, family] = ['first-name', 'last-name'].map((id) => byId(id).closest('.cell'));
  if (family) given?.before(family);
}

export function createContact({ customer, collect }: Session): Contact {
  if (/^ja\b/.test(pageLocale())) putFamilyNameFirst();
  const country = byId('country', HTMLSelectElement);
  fillCountries(country);
  const asksShipping = collect.includes('shipping');
  showAsked({ customer, collect });
  byId('known-customer').hidden = customer === null;
  if (customer) {
    byId('known-name').textContent = `${customer.first_name} ${customer.last_name}`;
    byId('known-email').textContent = customer.email;
  }

  const checks: Readonly<Record<string, (value: string) => string | undefined>> = {
    email: (value) => (value === '' ? texts.emailMissing : isEmail(value) ? undefined : texts.emailWrong),
    'first-name': required(texts.firstNameMissing),
    'last-name': required(texts.lastNameMissing),
    phone: (value) =>
      value === ''
        ? texts.phoneMissing
        : isPhone(value)
          ? undefined
          : filled(texts.phoneWrong, { example: '+1 555 123 4567' }),
    country: required(texts.countryMissing),
    line1: required(texts.line1Missing),
    city: required(texts.cityMissing),
    state: (value) => (value === '' && needsState(country.value) ? texts.stateMissing : undefined),
    'postal-code': (value) =>
      value === '' && !withoutPostalCodes.includes(country.value) ? texts.postalCodeMissing : undefined,
  };
  const inputs = Object.keys(fieldNames).map((id) => createInput(id, checks[id] ?? (() => undefined)));
  const valueOf = (id: string): string => inputs.find(({ name }) => name === id)?.value() ?? '';
  const optional = (id: string): string | null => valueOf(id) || null;
  const fullName = (): string =>
    customer
      ? `${customer.first_name} ${customer.last_name}`
      : `${valueOf('first-name')} ${valueOf('last-name')}`.trim();

  preparePhone(country);
  prepareTaxId();
  country.addEventListener('change', () => arrangeAddress(country.value));
  arrangeAddress(country.value);

  return {
    inputs,
    details: () => ({
      ...(!customer && {
        customer: {
          email: valueOf('email'),
          first_name: valueOf('first-name'),
          last_name: valueOf('last-name'),
          phone: valueOf('phone'),
          ...(valueOf('company') && { company: valueOf('company') }),
          ...(valueOf('company') && valueOf('tax-id') && { tax_id: valueOf('tax-id') }),
        },
      }),
      ...(asksShipping && {
        shipping: {
          name: valueOf('recipient') || fullName(),
          line1: valueOf('line1'),
          line2: optional('line2'),
          city: valueOf('city'),
          state: optional('state'),
          postal_code: optional('postal-code'),
          country: valueOf('country'),
        },
      }),
    }),
    showProblems(problems) {
      const wrong = inputs.filter((input) => {
        const found = problems.find(({ field }) => field === fieldNames[input.name]);
        if (found) input.showError(fieldProblem(found));
        return found;
      });
      return wrong[0];
    },
  };
}

function fieldProblem({ field, message }: Problem['field_errors'][number]): string {
  if (field === fieldNames['tax-id']) return filled(texts.taxIdWrong, { example: 'DE123456789' });
  return inWords(message, texts.fieldRefused);
}

/** Only companies have one. */
function prepareTaxId(): void {
  const company = byId('company', HTMLInputElement);
  const show = (): void => {
    byId('tax-id-field').hidden = byId('company-field').hidden || company.value.trim() === '';
  };
  company.addEventListener('input', show);
  show();
}

const isEmail = (value: string): boolean => /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(value);

/** Countries in which an address needs no postal code. */
const withoutPostalCodes = (
  'AE AG AO AW BF BI BJ BO BS BW BZ CD CF CG CI CK CM DJ DM ER FJ GD GH GM GN GQ GY HK IE JM KI KM KN KP LC ML MO MR MW ' +
  'NR NU PA QA RW SB SC SL SO SR ST SY TG TK TL TO TT TV TZ UG VU YE ZW'
).split(' ');

const needsState = (country: string): boolean => ['US', 'CA', 'AU'].includes(country);

/** The region of the browser's language: `en-GB` is GB. */
function likelyCountry(): string {
  const region = navigator.languages.map((language) => /-([A-Z]{2})\b/.exec(language)?.[1]).find(Boolean);
  return region && countries.has(region) ? region : '';
}

function fillCountries(select: HTMLSelectElement): void {
  const names = new Intl.DisplayNames([pageLocale()], { type: 'region' });
  const sorted = [...countries]
    .map((code) => ({ code, name: names.of(code) ?? code }))
    .toSorted((one, other) => one.name.localeCompare(other.name, pageLocale()));
  select.replaceChildren(
    element('option', { value: '' }, ''),
    ...sorted.map(({ code, name }) => element('option', { value: code }, name)),
  );
  select.value = likelyCountry();
}

/** Countries whose addresses end with city, state and postal code. Elsewhere the postal code stands before the city. */
const cityFirst = ['US', 'CA', 'AU', 'GB', 'IE', 'IN', 'NZ'];

const partNames: Readonly<Record<'state' | 'postalCode', Partial<Record<string, string>>>> = {
  state: texts.stateIn,
  postalCode: texts.postalCodeIn,
};

/** Names and orders the parts of an address as the country does. */
function arrangeAddress(country: string): void {
  byId('state-label').textContent = partNames.state[country] ?? texts.state;
  byId('postal-code-label').textContent = partNames.postalCode[country] ?? texts.postalCode;
  const address = byId('address');
  const isCityFirst = cityFirst.includes(country);
  if (address.classList.contains('city-first') === isCityFirst) return;
  address.classList.toggle('city-first', isCityFirst);
  const order = isCityFirst ? ['city', 'state', 'postal-code'] : ['postal-code', 'city', 'state'];
  // A field that moves loses the focus.
  const focused = document.activeElement;
  address.append(...order.map((id) => byId(id).closest('.cell') ?? ''));
  if (focused instanceof HTMLElement && focused !== document.activeElement) focused.focus();
}

function preparePhone(country: HTMLSelectElement): void {
  const phone = byId('phone', HTMLInputElement);
  // Before the check of the input, which listens to the same event later.
  phone.addEventListener(
    'change',
    () => {
      phone.value = withCountryCode(phone.value, country.value || likelyCountry());
    },
    { capture: true },
  );
}
