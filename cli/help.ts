import { styled } from './colors.ts';
import { exitCodes } from './command-error.ts';
import { type Command, groups, optionsOf } from './commands.ts';
import { leftOut, operatorCommands } from './operator-commands.ts';
import { declarationOf, type OptionName } from './options.ts';

/** Renders the table of commands for the help and for docs/cli.md. */

const called = ({ name, takes }: Command): string => [name, takes].filter(Boolean).join(' ');

const optionText = (name: OptionName): string => {
  const { short, value } = declarationOf(name);
  return `${short ? `-${short}, ` : ''}--${name}${value ? ` ${value}` : ''}`;
};

const footer = `Every command accepts --json and --help; svc --version prints the version. Lists are tables, or JSON with --json. Commands that call the API use --profile, SVC_URL and SVC_KEY, or the demo company of the
service on this machine.${leftOut.length > 0 ? '' : ' Other commands open the database in DATABASE_URL, or the embedded database in SVC_DATA_DIR.'}`;

export function overview(): string {
  const shown = Object.entries(groups).filter(([, commands]) => commands.length > 0);
  const parts = shown.map(([title, commands]) => {
    const lines = commands.map((command) => `  ${called(command).padEnd(40)}  ${command.summary}`);
    return [styled('bold', title), ...lines].join('\n');
  });
  return `Usage: svc <command>\n\n${parts.join('\n\n')}\n\n${footer}\n`;
}

export function commandHelp(command: Command): string {
  const options = optionsOf(command).map((name) => `  ${optionText(name).padEnd(32)}  ${declarationOf(name).describe}`);
  return [
    `svc ${called(command)}: ${command.summary}.`,
    ...(command.more ? ['', command.more] : []),
    '',
    ...options,
    ...(command.examples ? ['', ...command.examples.map((example) => `  ${example}`)] : []),
    '',
  ].join('\n');
}

/** The commands that need no machine of the service. */
function anywhere(): string {
  const operators = new Set(Object.values(operatorCommands).flat());
  const others = Object.values(groups).flatMap((commands) => commands.filter((command) => !operators.has(command)));
  return others.map(({ name }) => `\`${name}\``).join(', ');
}

const exitRows = (): string =>
  Object.values(exitCodes)
    .map(([code, meaning]) => `| ${code} | ${meaning} |`)
    .join('\n');

/** docs/cli.md. */
export function commandsPage(note: string): string {
  const sections = Object.entries(groups).map(([title, commands]) => {
    const parts = commands.map((command) => {
      const rows = (command.options ?? []).map(
        (name) => `| \`${optionText(name).replaceAll('|', '\\|')}\` | ${declarationOf(name).describe} |`,
      );
      return [
        `### \`svc ${called(command)}\``,
        '',
        `${command.summary[0]?.toUpperCase()}${command.summary.slice(1)}.${command.more ? ` ${command.more}` : ''}`,
        ...(rows.length > 0 ? ['', '| Option | Meaning |', '| --- | --- |', ...rows] : []),
        ...(command.examples ? ['', ...command.examples.map((example) => `    ${example}`)] : []),
      ].join('\n');
    });
    return [`## ${title}`, ...parts].join('\n\n');
  });
  return `${note}

# The svc command

Download the command from your service, and run it with Node 20 or newer: \`curl -fsSO http://127.0.0.1:8080/sdk/svc.mjs && node svc.mjs --help\`. See [the SDK and the svc command](sdk.md). This file has the commands that call the API: ${anywhere()}. The others open the database. They are part of the service and run on its machine: \`bin/svc\` in a release, \`node cli/svc.ts\` in the sources. Do not run \`npx svc\`: npx would download an unrelated package with that name.

${footer.replaceAll('\n', ' ').replaceAll(/--?[a-z]+|[A-Z]+_[A-Z_]+/g, '`$&`')}

If a command fails, it prints the reason to standard error and exits with one of these codes. Long commands print their progress to standard error.

| Exit code | Meaning |
| --- | --- |
| 0 | The command succeeded |
${exitRows()}
| 78 | A setting of the service is wrong |

At a terminal, the output has colors, unless NO_COLOR is set.

${sections.join('\n\n')}
`;
}
