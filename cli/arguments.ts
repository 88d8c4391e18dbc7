import { parseArgs } from 'node:util';
import { UsageError } from './command-error.ts';
import { type Command, namesakes, optionsOf } from './commands.ts';
import { fieldOption, optionNames, optionOf } from './field-options.ts';
import type { FieldTexts } from './field-values.ts';
import { declarationOf, type Flags, type OptionName, options } from './options.ts';
import { suggestion } from '../server/platform/suggest.ts';

/** Splits the arguments of the command into its name, its words and its options. */

export interface Given {
  readonly command: Command | undefined;
  /** All words, those of the name included. */
  readonly words: string[];
  readonly flags: Flags;
  readonly fields: FieldTexts;
}

export function readArguments(args: readonly string[]): Given {
  const loose = parseArgs({ args: [...args], options, strict: false, allowPositionals: true });
  const flags = loose.values as Flags;
  const words = loose.positionals;
  if (words[0] === 'help') {
    words.shift();
    flags.help = true;
  }
  const command = chosen(namesakes(words), flags);
  if (!command) {
    const unknown = Object.keys(flags).find((name) => !Object.hasOwn(options, name));
    if (unknown && words.length === 0) throw unknownOption(unknown, Object.keys(options));
    return { command, words, flags, fields: {} };
  }
  return flags.help ? { command, words, flags, fields: {} } : { command, ...strictly(command, args) };
}

/** `plans list` opens the database with --company, and calls the API without it. */
function chosen(commands: readonly Command[], flags: Flags): Command | undefined {
  const forCompany = commands.filter(({ options: own = [] }) => own.includes('company'));
  return (
    (flags.company === undefined ? undefined : forCompany[0]) ??
    commands.find((one) => !forCompany.includes(one)) ??
    commands[0]
  );
}

function strictly(command: Command, args: readonly string[]): Omit<Given, 'command'> {
  const own = optionsOf(command);
  const fieldNames = optionNames(args).filter(
    (name) => !(own as readonly string[]).includes(name) && fieldOption(name, command.fields ?? []),
  );
  const declared = {
    ...Object.fromEntries(own.map((name) => [name, declarationOf(name)])),
    ...Object.fromEntries(fieldNames.map((name) => [name, { type: 'string' as const, multiple: true }])),
  };
  try {
    const { values, positionals } = parseArgs({ args: [...args], options: declared, allowPositionals: true });
    const fields = Object.fromEntries(fieldNames.map((name) => [name, values[name] as string[]]));
    return { words: positionals, flags: values, fields };
  } catch (error) {
    throw explained(error as NodeJS.ErrnoException, command, own);
  }
}

function explained({ message, code }: NodeJS.ErrnoException, command: Command, own: readonly OptionName[]): Error {
  if (!code?.startsWith('ERR_PARSE_ARGS')) return new Error(message);
  const unknown = code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' ? /'--?([^' ]+)/.exec(message)?.[1] : undefined;
  if (unknown === undefined) return new UsageError(`${message.split('. ')[0]}.`);
  const names = [...(command.fields ?? []).map((field) => optionOf(field).slice(2)), ...own];
  return unknownOption(unknown, names, command);
}

function unknownOption(name: string, known: readonly string[], command?: Command): UsageError {
  const meant = suggestion(name.replaceAll('_', '-'), known, '--');
  if (!command) return new UsageError(`Unknown option --${name}.${meant}`);
  const few = known.length <= 20 ? ` Its options: ${known.map((each) => `--${each}`).join(', ')}.` : '';
  const others = few || ` \`svc ${command.name} --help\` lists them.`;
  return new UsageError(`svc ${command.name} has no option --${name}.${meant || others}`);
}
