import { limits } from '../server/limits.ts';
import type { FieldTexts } from './field-values.ts';
import { operationCommands } from './operation-commands.ts';
import type { Field } from './operations.ts';
import { operatorCommands } from './operator-commands.ts';
import { programVersion } from '../server/platform/version.ts';
import type { Flags, OptionName } from './options.ts';

/** Every command. Help, completion and docs/cli.md are generated from this table. */

/** Takes the words after the first one and returns the text to print. */
export type Run = (words: readonly string[], flags: Flags, fields: FieldTexts) => Promise<string>;

export interface Command {
  readonly name: string;
  /** What follows the name. */
  readonly takes?: string;
  /** Any number of words can follow. */
  readonly takesMany?: boolean;
  readonly summary: string;
  readonly more?: string;
  readonly options?: readonly OptionName[];
  /** Fields of the API that are options too. */
  readonly fields?: readonly Field[];
  readonly examples?: readonly string[];
  /** Loaded only when the command runs, so that help and completion are fast. */
  readonly load: () => Promise<Run>;
}

const service: readonly OptionName[] = ['base-url', 'key', 'profile'];
const request = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE') => async (): Promise<Run> =>
  (await import('./api.ts')).requestCommand(method);
const clock = async (): Promise<Run> => (await import('./api.ts')).clockCommand;

/** The commands of the OpenAPI document. Help and docs/cli.md show them by resource. */
export const objectsGroup = 'Objects of the company';

export const groups: Readonly<Record<string, readonly Command[]>> = {
  Service: operatorCommands.Service,
  Development: [
    {
      name: 'listen',
      summary: 'Forward the events of your sandbox to a receiver on this machine',
      more:
        'Signs each event like a webhook, with a secret that it prints at the start. If the connection breaks, it reconnects ' +
        'and loses no event, but an event can arrive twice. If the receiver does not respond, it waits. If the receiver ' +
        'responds with an error, it sends the event up to three times.',
      options: ['forward-to', 'events', 'customer', 'secret', 'from-cursor', 'state', ...service],
      examples: ['svc listen --forward-to localhost:3000/hook --events "order.*,subscription.*"'],
      load: async () => (await import('./listen.ts')).listenCommand,
    },
    {
      name: 'trigger',
      takes: 'EVENT',
      summary: 'Trigger an event in the sandbox',
      more: 'Creates a customer or an order for the event. --override sets its fields.',
      options: ['override', ...service],
      examples: ['svc trigger order.failed', 'svc trigger customer.created --override email=ada@example.com'],
      load: async () => (await import('./api.ts')).triggerCommand,
    },
    {
      name: 'webhooks check',
      takes: 'URL',
      summary: 'Test your webhook receiver with valid, duplicate, reordered, stale and forged events',
      more:
        'Pass the secret of your receiver. Exits with 1 if a check fails. The command cannot see ' +
        'whether your receiver handled a duplicate event once, so it prints the ID of the event for you to check.',
      options: ['secret'],
      examples: ['svc webhooks check localhost:3000/hook --secret whsec_…'],
      load: async () => (await import('./webhooks-check.ts')).webhooksCommand,
    },
    {
      name: 'logs',
      takes: '[REQUEST_ID]',
      summary: `Show the API requests of the last ${limits.requestRetentionDays} days, or one request in full`,
      options: ['follow', 'method', 'status', 'path', 'limit', ...service],
      examples: ['svc logs --follow --status 4xx'],
      load: async () => (await import('./logs.ts')).logsCommand,
    },
    { name: 'clock', summary: 'Show the time of the sandbox clock', options: service, load: clock },
    {
      name: 'clock advance',
      takes: '1 month 2 days | TIME',
      takesMany: true,
      summary: 'Advance the sandbox clock and show what happened',
      options: service,
      examples: ['svc clock advance 1 month', 'svc clock advance 2027-01-31T09:00:00Z'],
      load: clock,
    },
    {
      name: 'events resend',
      takes: 'EVENT',
      summary: 'Send an event to a webhook endpoint again',
      options: ['endpoint', ...service],
      examples: ['svc events resend evt_019c…'],
      load: async () => (await import('./resend.ts')).resendCommand,
    },
    {
      name: 'mcp',
      summary: 'Serve tools for coding agents over standard input and output (Model Context Protocol)',
      more:
        'The tools only read, with the permissions of the key: search, lists, single objects, explanations of failed payments, ' +
        'timelines of customers, and the guides. With --allow-writes and a key of a sandbox, they also create, refund and retry ' +
        'orders, cancel subscriptions, trigger events and advance the clock. With a live key that has the permission agents:write, ' +
        'an agent can ask a person to approve a refund, a retry or a cancellation.',
      options: ['allow-writes', ...service],
      examples: ['svc mcp --allow-writes'],
      load: async () => (await import('./mcp.ts')).mcpCommand,
    },
    ...operatorCommands.Development,
  ],
  'API requests': [
    {
      name: 'get',
      takes: 'PATH',
      summary: 'Send a GET request',
      options: service,
      examples: ["svc get '/v1/customers?limit=3'"],
      load: request('GET'),
    },
    {
      name: 'post',
      takes: 'PATH',
      summary: 'Send a POST request with a new idempotency key',
      options: ['data', 'idempotency-key', ...service],
      examples: ['svc post /v1/sandbox/events/trigger -d type=order.failed'],
      load: request('POST'),
    },
    {
      name: 'patch',
      takes: 'PATH',
      summary: 'Send a PATCH request',
      options: ['data', 'idempotency-key', ...service],
      load: request('PATCH'),
    },
    {
      name: 'delete',
      takes: 'PATH',
      summary: 'Send a DELETE request',
      options: ['data', 'idempotency-key', 'yes', ...service],
      load: request('DELETE'),
    },
  ],
  [objectsGroup]: operationCommands,
  Company: operatorCommands.Company,
  Profiles: [
    {
      name: 'login',
      summary: 'Save the address of a service and a key for the commands of this machine',
      more:
        'Asks for the key without showing it, or reads it from standard input. Saves it only if the service accepts it. The file is ' +
        'profiles.json in ~/.config/svc, $XDG_CONFIG_HOME/svc or %APPDATA%\\svc. Only you can read it.',
      options: ['base-url', 'profile'],
      examples: [
        'svc login --base-url https://pay.example.com',
        'svc login --profile shop --base-url https://pay.example.com < key.txt',
        'svc orders list --profile shop',
      ],
      load: async () => (await import('./login.ts')).loginCommand,
    },
    {
      name: 'logout',
      summary: 'Remove a profile and its key from this machine',
      options: ['profile'],
      load: async () => (await import('./profiles.ts')).logoutCommand,
    },
    {
      name: 'profiles list',
      summary: 'List the profiles',
      load: async () => (await import('./profiles.ts')).profilesCommand,
    },
  ],
  Shell: [
    {
      name: 'version',
      summary: 'Print the version of the command',
      load: async () => async (_words, flags) =>
        flags.json ? `${JSON.stringify({ version: programVersion })}\n` : `svc ${programVersion}\n`,
    },
    {
      name: 'completion',
      takes: 'bash|zsh|fish',
      summary: 'Print the completion script for your shell',
      more: 'Completes `svc`. Save the output to a file and source it in ~/.bashrc or ~/.zshrc; fish loads the file automatically.',
      examples: [
        'svc completion bash > ~/.svc-completion',
        'svc completion zsh > ~/.svc-completion',
        'svc completion fish > ~/.config/fish/conf.d/svc.fish',
      ],
      load: async () => (await import('./completion.ts')).completionCommand,
    },
  ],
};

export const commands: readonly Command[] = Object.values(groups).flat();

const wordsInName = 3;
const isNamed = ({ name }: Command, words: readonly string[]): boolean => name === words.join(' ').replaceAll('_', '-');

/** The commands with the longest matching name. Two have the same name if one opens the database and the other calls the API. */
export function namesakes(words: readonly string[]): readonly Command[] {
  for (let count = Math.min(wordsInName, words.length); count > 0; count -= 1) {
    const found = commands.filter((command) => isNamed(command, words.slice(0, count)));
    if (found.length > 0) return found;
  }
  return [];
}

/** The maximum number of words, including the name. */
export function wordsMax({ name, takes, takesMany }: Command): number {
  if (takesMany) return Infinity;
  return name.split(' ').length + (takes?.split(' ').length ?? 0);
}

export function optionsOf({ options = [] }: Command): readonly OptionName[] {
  return [...options, 'json', 'help'];
}

/** Commands that begin with these words, for example `keys`. */
export const commandsUnder = (...words: readonly string[]): readonly Command[] =>
  commands.filter(({ name }) => `${name} `.startsWith(words.map((word) => `${word} `).join('')));
