import { readArguments } from './arguments.ts';
import { CommandError, UsageError } from './command-error.ts';
import { type Command, commandsUnder, wordsMax } from './commands.ts';
import { commandHelp, overview } from './help.ts';
import { leftOut } from './operator-commands.ts';
import { suggestion } from '../server/platform/suggest.ts';
import { programVersion } from '../server/platform/version.ts';

/** The words that can follow these words in the name of a command. */
const nextWords = (words: readonly string[]): string[] => [
  ...new Set(commandsUnder(...words).flatMap(({ name }) => name.split(' ')[words.length] ?? [])),
];

/** For a mistyped second word of a command. */
const suggestedAction = (words: readonly string[], wrong: string): string =>
  suggestion(wrong, nextWords(words), `${words.join(' ')} `);

/** The error for an unknown command. */
function unknownCommand(words: readonly string[]): CommandError {
  const [first = '', second] = words;
  const operatorCommand = leftOut.find((name) => name === first || name === `${first} ${second}`);
  if (operatorCommand) {
    return new CommandError(
      `svc ${operatorCommand} needs the database of the service. Run it on a machine of the service.`,
    );
  }
  const known = words.findIndex((_, at) => commandsUnder(...words.slice(0, at + 1)).length === 0);
  const begun = known === -1 ? words : words.slice(0, known);
  if (begun.length > 0) {
    const there = `Available commands: ${commandsUnder(...begun)
      .map(({ name }) => name)
      .join(', ')}.`;
    const wrong = words[begun.length];
    if (wrong === undefined) return new UsageError(`This command is incomplete. ${there}`);
    return new UsageError(`Unknown command "${[...begun, wrong].join(' ')}".${suggestedAction(begun, wrong)} ${there}`);
  }
  const meant = suggestion(first, nextWords([]), 'svc ');
  return new UsageError(`Unknown command "${first}".${meant} \`svc --help\` lists all commands.`);
}

/** Rejects extra words, because the user may expect something else to happen. */
function checkWords(command: Command, words: readonly string[]): void {
  const surplus = words[wordsMax(command)];
  if (surplus === undefined) return;
  const usage = ['svc', command.name, command.takes].filter(Boolean).join(' ');
  const meant = surplus === words[1] ? suggestedAction([command.name], surplus) : '';
  throw new UsageError(`Unexpected argument: ${surplus}.${meant} Usage: ${usage}.`);
}

const helpFor = (command: Command | undefined, words: readonly string[]): string =>
  command
    ? commandHelp(command)
    : commandsUnder(...words)
        .map(commandHelp)
        .join('\n');

/** Runs a command, and returns what it prints. */
export async function runCommand(args: readonly string[]): Promise<string> {
  const { command, words, flags, fields } = readArguments(args);
  if (flags.version && words.length === 0) return `svc ${programVersion}\n`;
  if (words.length === 0) return overview();
  if (flags.help) return helpFor(command, words) || overview();
  if (!command) throw unknownCommand(words);
  checkWords(command, words);
  const run = await command.load();
  return run(words.slice(1), flags, fields);
}
