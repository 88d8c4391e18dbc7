import { type MessageFormatElement, parse, TYPE } from '@formatjs/icu-messageformat-parser';
import type { Choice, Message } from './messages.ts';

/** Reads messages in the ICU format. A release contains the result: it replaces this module, so that it needs no parser. */

export type Compiled = Message | { readonly [key: string]: Compiled };

/** A text, or an object with texts. */
export function compiled(texts: unknown): Compiled {
  if (typeof texts === 'string') return compiledMessage(texts);
  return Object.fromEntries(Object.entries(texts as object).map(([key, text]) => [key, compiled(text)]));
}

export function compiledMessage(text: string): Message {
  // In most texts nothing has to be read.
  return /[{}<']/.test(text) ? joined(parse(text, { ignoreTag: true }), undefined) : text;
}

/** Neighbouring texts become one. `#` is the number that the plural around it chooses by. */
function joined(elements: readonly MessageFormatElement[], number: string | undefined): Message {
  const parts: (string | Choice)[] = [];
  for (const element of elements) {
    const part = partOf(element, number);
    const last = parts.at(-1);
    if (typeof part === 'string' && typeof last === 'string') parts.splice(-1, 1, last + part);
    else parts.push(part);
  }
  if (parts.length === 0) return '';
  return parts.length === 1 && typeof parts[0] === 'string' ? parts[0] : parts;
}

function partOf(element: MessageFormatElement, number: string | undefined): string | Choice {
  if (element.type === TYPE.literal) return element.value;
  if (element.type === TYPE.argument) return `{${element.value}}`;
  if (element.type === TYPE.pound && number) return `{${number}#}`;
  if (element.type === TYPE.plural && element.pluralType === 'cardinal' && element.offset === 0) {
    return [element.value, 'plural', optionsOf(element.options, element.value)];
  }
  if (element.type === TYPE.select) return [element.value, 'select', optionsOf(element.options, number)];
  throw new Error(
    'A message has only texts, values, plurals and choices. Formats of numbers and dates belong to the code.',
  );
}

const optionsOf = (
  options: Readonly<Record<string, { readonly value: readonly MessageFormatElement[] }>>,
  number: string | undefined,
): Choice[2] => Object.fromEntries(Object.entries(options).map(([key, { value }]) => [key, joined(value, number)]));
