import Type, { type TSchema } from 'typebox';
import { limits } from '../limits.ts';
import { looksLikeCardNumber } from '../platform/card-digits.ts';
import { hasLink } from '../platform/web-addresses.ts';
import { visiblePattern } from './formats.ts';

/**
 * Text that people type: names, notes, addresses. A card number in it would be stored in plain text and copied into
 * events and mails, so it is rejected. Fields that programs fill (metadata, urls, skus) do not use these schemas:
 * there one in ten numbers of 16 digits looks like a card, and the dashboard shows a warning instead.
 */

interface Options {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly format?: string;
  readonly pattern?: string;
}

function typed<Schema extends TSchema>(schema: Schema) {
  return Type.Refine(
    schema,
    (text) => typeof text !== 'string' || !looksLikeCardNumber(text),
    () => 'looks like a card number. Do not store card numbers here; use a payment method ID',
  );
}

/** An email address that a person types on a page. Programs send any address, as they send any metadata. */
export const typedEmail = () => typed(Type.String({ format: 'email', maxLength: limits.emailLength }));

const visible = /[^\p{White_Space}\p{Cc}\p{Cf}\p{Cs}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/v;
// Includes line breaks.
const control = /[\p{Cc}\u2028\u2029]/u;

function lineProblem(text: unknown): string | undefined {
  if (typeof text !== 'string' || text === '') return undefined;
  if (control.test(text)) return 'must be one line without control characters';
  return visible.test(text) ? undefined : 'must contain visible characters';
}

function oneLine<Schema extends TSchema>(schema: Schema) {
  return Type.Refine(
    schema,
    (text) => lineProblem(text) === undefined,
    (text) => lineProblem(text) ?? '',
  );
}

/** Any number of lines, also empty. */
export const freeText = (maxLength: number, options: Options = {}) => typed(Type.String({ maxLength, ...options }));

/** One line; it may be empty. */
export const line = (options: Options = {}) => oneLine(freeText(limits.textLength, options));

export const name = (options: Options = {}) => line({ minLength: 1, format: 'not-blank', ...options });

/** Strangers type these, and emails repeat them: they must not advertise a site in the name of the merchant. */
export const withoutLink = <Schema extends TSchema>(schema: Schema) =>
  Type.Refine(
    schema,
    (text) => typeof text !== 'string' || !hasLink(text),
    () => 'must not contain a web address',
  );

/** The format rejects HTML and the pattern blank text, since a schema has only one format. */
export const plainText = (maxLength: number, options: Options = {}) =>
  oneLine(freeText(maxLength, { minLength: 1, pattern: visiblePattern, format: 'plain-text', ...options }));
