import { styled } from './colors.ts';
import { type Command, groups, objectsGroup, optionsOf } from './commands.ts';
import { fieldLines } from './operation-commands.ts';
import { leftOut } from './operator-commands.ts';
import { declarationOf, type OptionName } from './options.ts';

/** Renders the table of commands for the help and for docs/cli.md. */

export const called = ({ name, takes }: Command): string => [name, takes].filter(Boolean).join(' ');

export const optionText = (name: OptionName): string => {
  const { short, value } = declarationOf(name);
  return `${short ? `-${short}, ` : ''}--${name}${value ? ` ${value}` : ''}`;
};

export const footer = `Every command accepts --json and --help; svc --version prints the version. Responses are tables, or JSON with --json. Commands that call the API use --profile, SVC_URL and SVC_KEY, the
service of svc login, or the demo company of the service on this machine.${leftOut.length > 0 ? '' : ' Other commands open the database in DATABASE_URL, or the embedded database in SVC_DATA_DIR.'}`;

export function overview(): string {
  const shown = Object.entries(groups).filter(([, commands]) => commands.length > 0);
  const parts = shown.map(([title, commands]) => {
    if (title === objectsGroup) return [styled('bold', title), ...resourceLines(commands)].join('\n');
    const lines = commands.map((command) => `  ${called(command).padEnd(40)}  ${command.summary}`);
    return [styled('bold', title), ...lines].join('\n');
  });
  return `Usage: svc <command>\n\n${parts.join('\n\n')}\n\n${footer}\n`;
}

/** `customers  create, list, get`: one line for each kind of object. */
function resourceLines(commands: readonly Command[]): string[] {
  const actions = new Map<string, string[]>();
  for (const { name } of commands) {
    const [resource = '', ...action] = name.split(' ');
    actions.set(resource, [...(actions.get(resource) ?? []), action.join(' ')]);
  }
  return [...actions].map(([resource, names]) => `  ${resource.padEnd(20)}  ${names.join(', ')}`);
}

export function commandHelp(command: Command): string {
  const own = optionsOf(command).map((name): [string, string] => [optionText(name), declarationOf(name).describe]);
  const options = [...fieldLines(command), ...own].map(([text, about]) => `  ${text.padEnd(32)}  ${about}`.trimEnd());
  return [
    `svc ${called(command)}: ${command.summary}.`,
    ...(command.more ? ['', command.more] : []),
    '',
    ...options,
    ...(command.examples ? ['', ...command.examples.map((example) => `  ${example}`)] : []),
    '',
  ].join('\n');
}
