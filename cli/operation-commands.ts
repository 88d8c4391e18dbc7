import type { Command } from './commands.ts';
import { optionOf } from './field-options.ts';
import { type Operation, operations } from './operations.ts';
import type { OptionName } from './options.ts';

/** A command for each operation of the API: `customers create`, `orders refund`. */

const service: readonly OptionName[] = ['base-url', 'key', 'profile'];

function optionsFor({ method, isKeyed, isPaged, sends, fields }: Operation): OptionName[] {
  return [
    ...(isPaged ? (['limit', 'all'] as const) : []),
    ...(sends === 'body' && fields.length > 0 ? (['data'] as const) : []),
    ...(isKeyed ? (['idempotency-key'] as const) : []),
    ...(method === 'DELETE' ? (['yes'] as const) : []),
    ...service,
  ];
}

function commandFor(operation: Operation): Command {
  const { name, method, path, ids, summary, isPaged, fields } = operation;
  return {
    name,
    ...(ids.length > 0 && { takes: ids.join(' ') }),
    summary,
    more: `Sends ${method} ${path}.`,
    options: optionsFor(operation),
    // --limit counts the objects that are shown, of all pages.
    fields: isPaged ? fields.filter((field) => field.name !== 'limit') : fields,
    load: async () => (await import('./operation-request.ts')).operationCommand(operation),
  };
}

export const operationCommands: readonly Command[] = operations.map(commandFor);

/** The text of an option in the help. */
export const fieldLines = ({ fields = [] }: Command): [string, string][] =>
  fields.map((field) => {
    const { kind, several, required, values, describe } = field;
    const placeholder = { text: 'TEXT', integer: 'N', number: 'N', boolean: 'true|false', file: 'FILE' };
    const value = kind in placeholder ? placeholder[kind as keyof typeof placeholder] : 'JSON|@FILE';
    const listed = kind !== 'boolean' && values && values.length <= 8 ? values.join('|') : value;
    const notes = [required ? 'required' : '', several ? 'can be repeated' : ''].filter(Boolean);
    const about = [describe ?? '', ...notes].filter(Boolean).join('; ');
    return [`${optionOf(field)} ${listed}${kind === 'object' ? `, ${optionOf(field)}.NAME TEXT` : ''}`, about];
  });
