import { UsageError } from './command-error.ts';
import { type Command, commands, commandsUnder, optionsOf } from './commands.ts';
import { declarationOf, type OptionName, options } from './options.ts';

/** The script contains all words, because starting this program at every key stroke would be slow. */

const firstWords = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))];
const flagsOf = (command: Command): string[] => optionsOf(command).map((name) => `--${name}`);
const choicesOf = ({ takes = '' }: Command): string[] => (/^[a-z]+(\|[a-z]+)+$/.test(takes) ? takes.split('|') : []);

/** The words that can follow the first word of a command. */
function secondWords(first: string): string[] {
  return commandsUnder(first).flatMap((command) => {
    const [, second] = command.name.split(' ');
    return second ? [second] : [...choicesOf(command), ...flagsOf(command)];
  });
}

/** The values of an option if its help lists all of them: `secret|publishable`. */
function valuesOf(name: OptionName): string[] {
  const { value = '' } = declarationOf(name);
  return /^[A-Za-z]+(\|[A-Za-z]+)+$/.test(value) ? value.split('|').filter((word) => word !== 'ID') : [];
}

const takesValue = (name: OptionName): boolean => declarationOf(name).value !== undefined;
const allOptions = Object.keys(options) as OptionName[];

function bash(): string {
  const second = firstWords.map((word) => `    ${word}) words="${secondWords(word).join(' ')}" ;;`);
  const later = commands.map((command) => {
    const [first, last] = command.name.split(' ');
    return `    "${first} ${last ?? '"*'}${last ? '"' : ''}) words="${flagsOf(command).join(' ')}" ;;`;
  });
  // Names with two words come first, because the pattern for one word matches anything after it.
  const ordered = later.toSorted((left, right) => Number(left.includes('*')) - Number(right.includes('*')));
  const chosen = allOptions
    .filter((name) => valuesOf(name).length > 0)
    .map((name) => `    --${name}) words="${valuesOf(name).join(' ')}" ;;`);
  // For free text, the shell offers files.
  const free = allOptions.filter((name) => takesValue(name) && valuesOf(name).length === 0);
  return `_svc() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then words="${firstWords.join(' ')} --help --version"
  else case "$prev" in
${chosen.join('\n')}
    ${free.map((name) => `--${name}`).join('|')}) return ;;
    *) if [ "$COMP_CWORD" -eq 2 ]; then case "\${COMP_WORDS[1]}" in
${second.join('\n')}
    esac
    else case "\${COMP_WORDS[1]} \${COMP_WORDS[2]}" in
${ordered.join('\n')}
    esac
    fi ;;
  esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _svc svc
`;
}

/** Turns on completion in zsh, which is off without a configuration. */
const zsh = (): string =>
  `(( \${+functions[compdef]} )) || { autoload -U compinit && compinit }
autoload -U +X bashcompinit && bashcompinit
${bash()}`;

const quoted = (text: string): string => `'${text.replaceAll("'", "\\'")}'`;

function fish(): string {
  const [has, hasNot] = ['__svc_seen', 'not __svc_seen'];
  const lines = commands.flatMap((command) => {
    const [first = '', second] = command.name.split(' ');
    const here = second ? `'${has} ${first} ${second}'` : `'${has} ${first}'`;
    const word = second
      ? `complete -c svc -n '${has} ${first}; and test (count (__svc_words)) -eq 1' -a ${second} -d ${quoted(command.summary)}`
      : `complete -c svc -n '${hasNot}' -a ${first} -d ${quoted(command.summary)}`;
    const choices = choicesOf(command).map((choice) => `complete -c svc -n ${here} -a ${choice}`);
    const flags = optionsOf(command).map((name) => {
      const { describe } = declarationOf(name);
      const values = valuesOf(name);
      const value = values.length > 0 ? ` -x -a ${quoted(values.join(' '))}` : name === 'state' ? ' -r -F' : ' -x';
      return `complete -c svc -n ${here} -l ${name}${takesValue(name) ? value : ''} -d ${quoted(describe)}`;
    });
    return [word, ...choices, ...flags];
  });
  const groups = firstWords
    .filter((word) => !commands.some(({ name }) => name === word))
    .map((word) => `complete -c svc -n '${hasNot}' -a ${word}`);
  return `# The words after svc that are not options, and whether they begin with the given words (or are present at all).
function __svc_words
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; or echo $word
  end
end
function __svc_seen
  set -l words (__svc_words)
  test (count $argv) -eq 0; and test (count $words) -gt 0; and return
  test (count $argv) -gt 0; and test "$words[1..$(count $argv)]" = "$argv"
end
complete -c svc -f
${[...groups, ...lines].join('\n')}
`;
}

const shells: Readonly<Record<string, () => string>> = { bash, zsh, fish };

/** `completion bash`. */
export async function completionCommand([shell = '']: readonly string[]): Promise<string> {
  const write = Object.hasOwn(shells, shell) ? shells[shell] : undefined;
  if (!write) throw new UsageError('Choose a shell: completion bash, completion zsh or completion fish.');
  return write();
}
