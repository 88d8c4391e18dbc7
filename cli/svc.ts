#!/usr/bin/env node
import { parseArgs } from 'node:util';
import { CommandError, exitCodes, UsageError } from './command-error.ts';
import { type Command, commands, commandsUnder, findCommand, optionsOf, wordsMax } from './commands.ts';
import { commandHelp, overview } from './help.ts';
import { leftOut } from './operator-commands.ts';
import { ConfigurationError, wrongSettingsCode } from '../server/platform/configuration-error.ts';
import { watchLauncher } from '../server/platform/launcher.ts';
import { type Flags, options } from './options.ts';
import { suggestion } from '../server/platform/suggest.ts';
import { programVersion } from '../server/platform/version.ts';

/** `svc <command>`: the command line for operators and developers. */

function parsed(): { flags: Flags; words: string[]; given: string[] } {
  try {
    const { values, positionals, tokens } = parseArgs({ options, allowPositionals: true, tokens: true });
    const given = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []));
    return { flags: values, words: positionals, given };
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    if (!code?.startsWith('ERR_PARSE_ARGS')) throw error;
    const unknown = /'--?([\w-]+)/.exec(message)?.[1] ?? '';
    const known = Object.hasOwn(options, unknown) ? '' : suggestion(unknown, Object.keys(options), '--');
    throw new UsageError(`${message.split('. ')[0]}.${known}`);
  }
}

/** For a mistyped second word of a command. */
function suggestedAction(first: string, second: string): string {
  const actions = commandsUnder(first).flatMap(({ name }) => name.split(' ')[1] ?? []);
  return suggestion(second, actions, `${first} `);
}

/** The error for an unknown command. */
function unknownCommand(words: readonly string[]): CommandError {
  const [first = '', second] = words;
  const operatorCommand = leftOut.find((name) => name === first || name === `${first} ${second}`);
  if (operatorCommand) {
    return new CommandError(
      `svc ${operatorCommand} needs the database of the service. Run it on a machine of the service.`,
    );
  }
  const under = commandsUnder(first);
  if (under.length > 0) {
    const there = `Available commands: ${under.map(({ name }) => name).join(', ')}.`;
    if (second === undefined) return new UsageError(`This command is incomplete. ${there}`);
    return new UsageError(`Unknown command "${first} ${second}".${suggestedAction(first, second)} ${there}`);
  }
  const meant = suggestion(
    first,
    commands.map(({ name }) => name.split(' ')[0] ?? ''),
    'svc ',
  );
  return new UsageError(`Unknown command "${first}".${meant} \`svc --help\` lists all commands.`);
}

function checkOptions(command: Command, given: readonly string[]): void {
  const allowed: readonly string[] = optionsOf(command);
  const stray = given.find((name) => !allowed.includes(name));
  if (stray === undefined) return;
  const list = allowed.map((name) => `--${name}`).join(', ');
  throw new UsageError(`svc ${command.name} has no option --${stray}. Its options: ${list}.`);
}

/** Rejects extra words, because the user may expect something else to happen. */
function checkWords(command: Command, words: readonly string[]): void {
  const surplus = words[wordsMax(command)];
  if (surplus === undefined) return;
  const usage = ['svc', command.name, command.takes].filter(Boolean).join(' ');
  const meant = surplus === words[1] ? suggestedAction(command.name, surplus) : '';
  throw new UsageError(`Unexpected argument: ${surplus}.${meant} Usage: ${usage}.`);
}

async function main(): Promise<void> {
  const { flags, words, given } = parsed();
  if (words[0] === 'help') {
    words.shift();
    flags.help = true;
  }
  if (flags.version && words.length === 0) return void process.stdout.write(`svc ${programVersion}\n`);
  if (words.length === 0) return void process.stdout.write(overview());
  const command = findCommand(words);
  if (flags.help) {
    const help = command
      ? commandHelp(command)
      : commandsUnder(words[0] ?? '')
          .map(commandHelp)
          .join('\n');
    return void process.stdout.write(help || overview());
  }
  if (!command) throw unknownCommand(words);
  checkOptions(command, given);
  checkWords(command, words);
  const run = await command.load();
  process.stdout.write(await run(words.slice(1), flags));
}

const isJson = (text: string): boolean => /^\s*[{[]/.test(text);

/** The reader of the output may exit early, as `head` does. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

/** An unusable database is an error that the user can fix, like an invalid setting. */
const ofTheDatabase = new Set(['UnusableDatabaseError', 'MigrationError']);

function messageOf(error: Error): string {
  if (error instanceof CommandError || error instanceof ConfigurationError) return error.message;
  // Compared by name, because their modules are loaded only when a command needs them.
  if (ofTheDatabase.has(error.constructor.name)) return error.message;
  const searched = ['debug', 'trace'].includes(process.env.SVC_LOG_LEVEL ?? '');
  if (searched) return error.stack ?? String(error);
  return `Unexpected error: ${error.message || String(error)}. Set SVC_LOG_LEVEL=debug to see where.`;
}

function exitCodeOf(error: Error): number {
  if (error instanceof CommandError) return error.exitCode;
  return error instanceof ConfigurationError ? wrongSettingsCode : exitCodes.failed[0];
}

// Commands that run until a signal ends them handle it as if it had reached them.
watchLauncher(() => process.kill(process.pid, 'SIGTERM'));

main().catch((error: Error) => {
  const message = messageOf(error);
  const asJson = process.argv.includes('--json') && !isJson(message);
  process.stderr.write(`${asJson ? JSON.stringify({ error: { message } }) : message}\n`);
  process.exitCode = exitCodeOf(error);
});
