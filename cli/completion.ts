import { UsageError } from './command-error.ts';
import { type Command, commands, commandsUnder, optionsOf } from './commands.ts';
import { optionOf } from './field-options.ts';
import { fieldLines } from './operation-commands.ts';
import { declarationOf, type OptionName, options } from './options.ts';

/** The script contains all words, because starting this program at every key stroke would be slow. */

interface Candidate {
  readonly word: string;
  readonly describe: string;
}

/** What can follow the words of a command: the next words of longer names, the arguments of this one, and its options. */
interface Position {
  readonly path: string;
  readonly next: readonly Candidate[];
  readonly flags: readonly Candidate[];
  /** The values of options of this command only. */
  readonly values: ReadonlyMap<string, readonly string[]>;
}

const choicesOf = ({ takes = '' }: Command): string[] => (/^[a-z]+(\|[a-z]+)+$/.test(takes) ? takes.split('|') : []);

function flagsOf(command: Command): Candidate[] {
  const described = fieldLines(command).map(([, describe]) => describe);
  const fields = (command.fields ?? []).map((field, at) => ({ word: optionOf(field), describe: described[at] ?? '' }));
  const own = optionsOf(command).map((name) => ({ word: `--${name}`, describe: declarationOf(name).describe }));
  return [...fields, ...own];
}

/** A word can begin several commands. The one that it names describes it. */
const unique = (candidates: readonly Candidate[]): Candidate[] => [
  ...new Map(
    candidates
      .toSorted((one, other) => Number(one.describe !== '') - Number(other.describe !== ''))
      .map((each) => [each.word, each]),
  ).values(),
];

/** The words after the given ones in the names of commands. */
function nextWords(words: readonly string[]): Candidate[] {
  const candidates = commandsUnder(...words).flatMap(({ name, summary }) => {
    const all = name.split(' ');
    const word = all[words.length];
    return word ? [{ word, describe: all.length === words.length + 1 ? summary : '' }] : [];
  });
  return unique(candidates);
}

/** A shell would take the others for patterns of file names. */
const isPlain = (value: string): boolean => !/[*?[]/.test(value);

function positions(): Position[] {
  const paths = commands.flatMap(({ name }) => name.split(' ').map((_, at, words) => words.slice(0, at + 1).join(' ')));
  return [...new Set(paths)].map((path) => {
    const here = commands.filter(({ name }) => name === path);
    const choices = here.flatMap(choicesOf).map((word) => ({ word, describe: '' }));
    const withValues = here.flatMap(({ fields = [] }) => fields).filter(({ values }) => values);
    return {
      path,
      next: [...nextWords(path.split(' ')), ...choices],
      flags: unique(here.flatMap(flagsOf)),
      values: new Map(withValues.map((field) => [optionOf(field), (field.values ?? []).filter(isPlain)])),
    };
  });
}

/** The values of an option if its help lists all of them: `secret|publishable`. */
function valuesOf(name: OptionName): string[] {
  const { value = '' } = declarationOf(name);
  return /^[A-Za-z]+(\|[A-Za-z]+)+$/.test(value) ? value.split('|').filter((word) => word !== 'ID') : [];
}

const allOptions = Object.keys(options) as OptionName[];
const withValues = allOptions.filter((name) => valuesOf(name).length > 0);
/** These stand alone. Any other option is followed by a value. */
const alone = allOptions.filter((name) => declarationOf(name).value === undefined);

const words = (candidates: readonly Candidate[]): string => candidates.map(({ word }) => word).join(' ');
const firstWords = (): Candidate[] => [
  ...nextWords([]),
  { word: '--help', describe: '' },
  { word: '--version', describe: '' },
];

/** Longer names come first, because the pattern of a name also matches what follows it. */
const longestFirst = (all: readonly Position[]): Position[] =>
  all.toSorted((one, other) => other.path.split(' ').length - one.path.split(' ').length);

function bash(): string {
  const all = longestFirst(positions());
  const values = all.flatMap(({ path, values: own }) =>
    [...own].map(([option, each]) => `    "${path} "*"|${option}") words="${each.join(' ')}" ;;`),
  );
  const shared = withValues.map((name) => `    *"|--${name}") words="${valuesOf(name).join(' ')}" ;;`);
  const names = all.map(({ path, next, flags }) => {
    const offered = [...next, ...flags];
    const arm = (pattern: string, candidates: readonly Candidate[]): string =>
      `    ${pattern}) words="${words(candidates)}" ;;`;
    if (next.length === 0) return arm(`"${path}"|"${path} "*`, flags);
    // After an argument, only options can follow.
    return [arm(`"${path}"`, offered), ...(flags.length > 0 ? [arm(`"${path} "*`, flags)] : [])].join('\n');
  });
  return `_svc() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="" name="" words="" at
  [ "$COMP_CWORD" -gt 1 ] && prev="\${COMP_WORDS[COMP_CWORD-1]}"
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "\${COMP_WORDS[at]}" in -*) break ;; esac
    name="$name\${name:+ }\${COMP_WORDS[at]}"
  done
  case "$prev" in
  ${alone.map((name) => `--${name}`).join('|')}) prev="" ;;
  esac
  case "$prev" in
  -*) case "$name |$prev" in
${[...values, ...shared].join('\n')}
    *) return ;;
    esac ;;
  *) case "$name" in
    "") words="${words(firstWords())}" ;;
${names.join('\n')}
    esac ;;
  esac
  local IFS=$' \\t\\n'
  COMPREPLY=($(set -f; compgen -W "$words" -- "$cur"))
}
complete -o default -F _svc svc
`;
}

/** Turns on completion in zsh, which is off without a configuration. */
const zsh = (): string =>
  `(( \${+functions[compdef]} )) || { autoload -U compinit && compinit }
autoload -U +X bashcompinit && bashcompinit
${bash()}`;

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
const offers = (candidates: readonly Candidate[]): string =>
  candidates.map(({ word, describe }) => quoted(describe ? `${word}\t${describe}` : word)).join(' ');

function fish(): string {
  const all = longestFirst(positions());
  const own = all.flatMap(({ path, values }) =>
    [...values].map(
      ([option, each]) => `      case ${quoted(`${path} *|${option}`)}
        printf '%s\\n' ${each.map(quoted).join(' ')}`,
    ),
  );
  const shared = withValues.map(
    (name) => `      case ${quoted(`*|--${name}`)}
        printf '%s\\n' ${valuesOf(name).map(quoted).join(' ')}`,
  );
  const names = all.flatMap(({ path, next, flags }) => {
    const arm = (patterns: readonly string[], candidates: readonly Candidate[]): string =>
      `    case ${patterns.map(quoted).join(' ')}\n      printf '%s\\n' ${offers(candidates)}`;
    if (next.length === 0) return arm([path, `${path} *`], flags);
    return [arm([path], [...next, ...flags]), ...(flags.length > 0 ? [arm([`${path} *`], flags)] : [])];
  });
  return `# What can follow the words after svc: their options, and the next words of longer commands.
function __svc_candidates
  set -l given (commandline -opc)[2..-1]
  set -l name
  for word in $given
    string match -q -- '-*' $word; and break
    set -a name $word
  end
  set -l last $given[-1]
  contains -- "$last" ${alone.map((name) => `--${name}`).join(' ')}; and set last ''
  if string match -q -- '-*' "$last"
    switch "$name |$last"
${[...own, ...shared].join('\n')}
      case '*|--state' '*|--file' '*|--credentials' '*|--data' '*|-d'
        __fish_complete_path (commandline -ct)
    end
    return
  end
  switch "$name"
    case ''
      printf '%s\\n' ${offers(firstWords())}
${names.join('\n')}
  end
end
complete -c svc -f -a '(__svc_candidates)'
`;
}

const shells: Readonly<Record<string, () => string>> = { bash, zsh, fish };

/** `completion bash`. */
export async function completionCommand([shell = '']: readonly string[]): Promise<string> {
  const write = Object.hasOwn(shells, shell) ? shells[shell] : undefined;
  if (!write) throw new UsageError('Choose a shell: completion bash, completion zsh or completion fish.');
  return write();
}
