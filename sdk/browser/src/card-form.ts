import {
  type BrandRule,
  checkCvc,
  checkExpiry,
  checkNumber,
  digitsOf,
  expiryDigits,
  formatExpiry,
  formatNumber,
  longestFor,
  readExpiry,
  ruleFor,
} from './cards.ts';
import { createField, elementById, type Field } from './field.ts';
import type { CardState, CardTexts, ErrorDetails, FieldName } from './svc.ts';
import { type CardInput, emptyError } from './token-request.ts';

/** The three fields of a card: what is typed, what is wrong with it, and the brand. */

export interface CardForm {
  readonly fields: readonly Field[];
  state(): CardState;
  /** Shows what is wrong with a field, or that nothing is. */
  check(field: Field): void;
  /** Shows all problems at once and puts the cursor into the first. */
  checkAll(): ErrorDetails | undefined;
  /** Shows the problems that the API found; false when it names none of these fields. */
  showProblems(problems: ErrorDetails['field_errors'], texts: Partial<CardTexts>): boolean;
  card(): CardInput;
  clear(): void;
}

const longestCvc = 4;

const apiFields: Record<string, FieldName> = {
  'card.number': 'number',
  'card.exp_month': 'expiry',
  'card.exp_year': 'expiry',
  'card.cvc': 'cvc',
};

const apiNames: Record<FieldName, string> = { number: 'card.number', expiry: 'card.exp_month', cvc: 'card.cvc' };

export function createCardForm(live: boolean, texts: CardTexts, onChange: () => void): CardForm {
  let rule = ruleFor('', live);
  const number = createField(
    'number',
    {
      digits: (text) => digitsOf(text, longestFor(ruleFor(digitsOf(text), live))),
      format: (digits) => formatNumber(digits, ruleFor(digits, live)),
    },
    (typed) => {
      setRule(ruleFor(number.digits(), live));
      if (typed && number.digits().length === rule.usualLength) moveOn(number, expiry);
      onChange();
    },
  );
  const expiry = createField('expiry', { digits: expiryDigits, format: formatExpiry }, (typed) => {
    if (typed) moveOn(expiry, cvc);
    onChange();
  });
  const cvc = createField(
    'cvc',
    {
      digits: (text) => digitsOf(text, longestCvc),
      format: (digits) => digits.slice(0, Math.max(...rule.cvcLengths)),
    },
    onChange,
  );
  const fields: readonly Field[] = [number, expiry, cvc];

  function setRule(next: BrandRule): void {
    rule = next;
    showBrand(rule, cvc.input);
  }

  function problemOf(field: Field): keyof CardTexts | undefined {
    if (field === number) return checkNumber(number.digits(), live);
    if (field === cvc) return checkCvc(cvc.digits(), rule);
    const now = new Date();
    return checkExpiry(expiry.digits(), { year: now.getFullYear(), month: now.getMonth() + 1 });
  }

  function moveOn(from: Field, to: Field): void {
    if (from.isAtEnd() && document.activeElement === from.input && !problemOf(from)) to.input.focus();
  }

  function check(field: Field): void {
    const problem = problemOf(field);
    field.showError(problem && texts[problem]);
  }

  return {
    fields,
    check,
    state: () => ({
      complete: fields.every((field) => !problemOf(field)),
      empty: fields.every((field) => field.input.value === ''),
      brand: rule.brand,
      errors: errorsOf(fields),
    }),
    checkAll() {
      fields.forEach(check);
      return localError(fields.filter((field) => field.error()));
    },
    showProblems: (problems, ownTexts) => showProblems(fields, problems, ownTexts),
    card: () => cardOf(number, expiry, cvc),
    clear() {
      for (const field of fields) field.clear();
      setRule(ruleFor('', live));
    },
  };
}

function showBrand(rule: BrandRule, cvc: HTMLInputElement): void {
  const icon = elementById('brand');
  icon.setAttribute('aria-label', rule.name);
  icon.setAttribute('aria-hidden', String(rule.name === ''));
  icon.firstElementChild?.setAttribute('href', `#brand-${rule.brand}`);
  cvc.placeholder = rule.brand === 'amex' ? '1234' : '123';
}

function cardOf(number: Field, expiry: Field, cvc: Field): CardInput {
  const { month, year } = readExpiry(expiry.digits());
  return {
    number: number.digits(),
    exp_month: String(month).padStart(2, '0'),
    exp_year: String(year),
    cvc: cvc.digits(),
  };
}

function errorsOf(fields: readonly Field[]): CardState['errors'] {
  const errors: Partial<Record<FieldName, string>> = {};
  for (const field of fields) {
    const error = field.error();
    if (error) errors[field.name] = error;
  }
  return errors;
}

function localError(wrong: readonly Field[]): ErrorDetails | undefined {
  const [first] = wrong;
  if (!first) return undefined;
  first.input.focus();
  return {
    ...emptyError,
    code: 'validation_error',
    message: wrong.length === 1 ? (first.error() ?? '') : `${wrong.length} fields are invalid.`,
    param: apiNames[first.name],
    field_errors: wrong.map((field) => ({
      field: apiNames[field.name],
      code: field.input.value === '' ? 'required_field' : 'invalid_value',
      message: field.error() ?? '',
    })),
  };
}

function showProblems(
  fields: readonly Field[],
  problems: ErrorDetails['field_errors'],
  texts: Partial<CardTexts>,
): boolean {
  const wrong = fields.filter((field) => {
    const found = problems.find((problem) => apiFields[problem.field] === field.name);
    if (found) field.showError(texts[`${field.name}Invalid`] ?? found.message);
    return found;
  });
  wrong[0]?.input.focus();
  return wrong.length > 0;
}
