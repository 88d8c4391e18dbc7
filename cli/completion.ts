import { CommandError } from './command-error.ts';
import { type Command, commands, commandsUnder, optionsOf } from './commands.ts';
import { declarationOf } from './options.ts';

/** Completion is written out whole: asking this program at every key stroke would be felt. */

const firstWords = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))];
const flagsOf = (command: Command): string[] => optionsOf(command).map((name) => `--${name}`);
const choicesOf = ({ takes = '' }: Command): string[] => (/^[a-z]+(\|[a-z]+)+$/.test(takes) ? takes.split('|') : []);

/** What may follow a word that is the whole command, or the first of two. */
function secondWords(first: string): string[] {
  return commandsUnder(first).flatMap((command) => {
    const [, second] = command.name.split(' ');
    return second ? [second] : [...choicesOf(command), ...flagsOf(command)];
  });
}

function bash(): string {
  const second = firstWords.map((word) => `    ${word}) words="${secondWords(word).join(' ')}" ;;`);
  const later = commands.map((command) => {
    const [first, last] = command.name.split(' ');
    return `    "${first} ${last ?? '"*'}${last ? '"' : ''}) words="${flagsOf(command).join(' ')}" ;;`;
  });
  // The two-word names first: a pattern for one word takes anything behind it.
  const ordered = later.toSorted((left, right) => Number(left.includes('*')) - Number(right.includes('*')));
  return `_svc() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then words="${firstWords.join(' ')}"
  elif [ "$COMP_CWORD" -eq 2 ]; then case "\${COMP_WORDS[1]}" in
${second.join('\n')}
  esac
  else case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${ordered.join('\n')}
  esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _svc svc
_svc_npx() {
  [ "\${COMP_WORDS[1]}" = svc ] && [ "$COMP_CWORD" -gt 1 ] || return
  COMP_WORDS=("\${COMP_WORDS[@]:1}")
  COMP_CWORD=$((COMP_CWORD - 1))
  _svc
}
complete -o default -F _svc_npx npx
`;
}

const zsh = (): string => `autoload -U +X bashcompinit && bashcompinit\n${bash()}`;

const quoted = (text: string): string => `'${text.replaceAll("'", "\\'")}'`;

function fish(): string {
  const lines = commands.flatMap((command) => {
    const [first = '', second] = command.name.split(' ');
    const here = second
      ? `'__fish_seen_subcommand_from ${first}; and __fish_seen_subcommand_from ${second}'`
      : `'__fish_seen_subcommand_from ${first}'`;
    const word = second
      ? `complete -c svc -n '__fish_seen_subcommand_from ${first}; and not __fish_seen_subcommand_from ${second}' -a ${second} -d ${quoted(command.summary)}`
      : `complete -c svc -n __fish_use_subcommand -a ${first} -d ${quoted(command.summary)}`;
    const choices = choicesOf(command).map((choice) => `complete -c svc -n ${here} -a ${choice}`);
    const flags = optionsOf(command).map((name) => {
      const { value, describe } = declarationOf(name);
      return `complete -c svc -n ${here} -l ${name}${value ? ' -r' : ''} -d ${quoted(describe)}`;
    });
    return [word, ...choices, ...flags];
  });
  const groups = firstWords
    .filter((word) => !commands.some(({ name }) => name === word))
    .map((word) => `complete -c svc -n __fish_use_subcommand -a ${word}`);
  return `complete -c svc -f\n${[...groups, ...lines].join('\n')}\n`;
}

const shells: Readonly<Record<string, () => string>> = { bash, zsh, fish };

/** `completion bash`. */
export async function completionCommand([shell = '']: readonly string[]): Promise<string> {
  const write = Object.hasOwn(shells, shell) ? shells[shell] : undefined;
  if (!write) throw new CommandError('Name your shell: completion bash, completion zsh or completion fish.');
  return write();
}
