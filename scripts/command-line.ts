import { parseArgs } from 'node:util';

/** Reads the options of a command for developers, such as `npm run chaos`. `--help` prints them; a wrong one is explained. */

interface Described {
  readonly describe: string;
}

interface NumberOption extends Described {
  readonly type: 'number';
  readonly default?: number;
}

interface TextOption extends Described {
  readonly type: 'text';
  readonly default?: string;
  readonly oneOf?: readonly string[];
}

interface FlagOption extends Described {
  readonly type: 'flag';
}

type Option = NumberOption | TextOption | FlagOption;
type Kept<One extends Option, Value> = One extends { readonly default: unknown } ? Value : Value | undefined;
type Choice<One> = One extends { readonly oneOf: readonly (infer Name)[] } ? Name : string;
type ValueOf<One extends Option> = One extends FlagOption
  ? boolean
  : One extends NumberOption
    ? Kept<One, number>
    : Kept<One, Choice<One>>;
export type Options = Readonly<Record<string, Option>>;
export type Values<Table extends Options> = { readonly [Name in keyof Table]: ValueOf<Table[Name]> };

export interface Command<Table extends Options> {
  /** As it is typed, for example `npm run chaos`. */
  readonly name: string;
  /** Says what the command does, in one or two sentences. */
  readonly summary: string;
  readonly options: Table;
  /** What may follow the options, for example `FILE…`. Without it, nothing may. */
  readonly arguments?: { readonly name: string; readonly oneOf?: readonly string[] };
}

export type CommandLine<Table extends Options> =
  | { readonly kind: 'read'; readonly values: Values<Table>; readonly positionals: readonly string[] }
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'wrong'; readonly text: string };

export function parseCommandLine<const Table extends Options>(
  command: Command<Table>,
  args: readonly string[],
): CommandLine<Table> {
  const wrong = (message: string): CommandLine<Table> => ({ kind: 'wrong', text: `${message}\n\n${helpOf(command)}` });
  const given = split(command.options, args);
  if (given instanceof Error) return wrong(given.message);
  if (given.values.help) return { kind: 'help', text: helpOf(command) };

  const values: Record<string, unknown> = {};
  for (const [name, option] of Object.entries(command.options)) {
    const text = given.values[name];
    const problem = text === undefined ? undefined : problemOf(name, option, String(text));
    if (problem) return wrong(problem);
    if (option.type === 'flag') values[name] = text ?? false;
    else if (text === undefined) values[name] = option.default;
    else values[name] = option.type === 'number' ? Number(text) : text;
  }
  const stray = given.positionals.find((text) => !isAllowed(command, text));
  if (stray !== undefined) return wrong(`"${stray}" is not known here.`);
  return { kind: 'read', values: values as Values<Table>, positionals: given.positionals };
}

function isAllowed<Table extends Options>({ arguments: allowed }: Command<Table>, text: string): boolean {
  return allowed !== undefined && (allowed.oneOf?.includes(text) ?? true);
}

function split(
  table: Options,
  args: readonly string[],
): { values: Record<string, string | boolean | undefined>; positionals: string[] } | Error {
  const entries = Object.entries(table).map(
    ([name, { type }]) => [name, type === 'flag' ? 'boolean' : 'string'] as const,
  );
  const options = Object.fromEntries(
    [...entries, ['help', 'boolean'] as const].map(([name, type]) => [name, { type }]),
  );
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    // Node's message goes on with advice about positional arguments.
    const [first = ''] = (error as Error).message.split(/\. /);
    return new Error(`${first.replace(/\.$/, '')}.`);
  }
}

function problemOf(name: string, option: Option, text: string): string | undefined {
  if (option.type === 'number' && !(text.trim() !== '' && Number(text) >= 0)) {
    return `--${name} must be a number that is not negative.`;
  }
  if (option.type === 'text' && option.oneOf && !option.oneOf.includes(text)) {
    return `--${name} must be one of ${option.oneOf.join(', ')}.`;
  }
  return undefined;
}

function helpOf<Table extends Options>(command: Command<Table>): string {
  const rows = Object.entries(command.options).map(([name, option]): [string, string] => {
    const value = { number: ' N', text: ' TEXT', flag: '' }[option.type];
    const choices = option.type === 'text' && option.oneOf ? ` One of ${option.oneOf.join(', ')}.` : '';
    const preset = option.type !== 'flag' && option.default !== undefined && option.default !== '';
    return [`--${name}${value}`, `${option.describe}${choices}${preset ? ` Default: ${option.default}.` : ''}`];
  });
  rows.push(['--help', 'Prints this text.']);
  const width = Math.max(...rows.map(([name]) => name.length));
  const positionals = command.arguments ? ` [${command.arguments.name}]` : '';
  const lines = rows.map(([name, describe]) => `  ${name.padEnd(width)}  ${describe}`);
  return [`${command.name} -- [options]${positionals}`, '', command.summary, '', ...lines, ''].join('\n');
}

/** Ends the process after `--help` and after a wrong option. */
export function readCommandLine<const Table extends Options>(
  command: Command<Table>,
): { readonly values: Values<Table>; readonly positionals: readonly string[] } {
  const line = parseCommandLine(command, process.argv.slice(2));
  if (line.kind === 'read') return line;
  const stream = line.kind === 'help' ? process.stdout : process.stderr;
  stream.write(line.text);
  return process.exit(line.kind === 'help' ? 0 : 2);
}
