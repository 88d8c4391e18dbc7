import { createInterface } from 'node:readline';
import { chosenTarget, type Target } from './api.ts';
import { UsageError } from './command-error.ts';
import type { Flags } from './options.ts';

/**
 * `mcp`: the tools of the service for a program that starts this command and speaks over its standard input and output, a
 * message on each line. The tools are those of `/mcp`; this command passes the messages on with the key.
 */
export async function mcpCommand(_words: readonly string[], flags: Flags): Promise<string> {
  const target = await chosenTarget(flags);
  const allowWrites = flags['allow-writes'] ?? false;
  checkKey(target.key, allowWrites);
  const running = new Set<Promise<void>>();
  for await (const line of createInterface({ input: process.stdin })) {
    const answered = answer(target, line, allowWrites).then((text) => {
      running.delete(answered);
      if (text) process.stdout.write(`${text}\n`);
    });
    running.add(answered);
  }
  await Promise.all(running);
  return '';
}

function checkKey(key: string, allowWrites: boolean): void {
  if (/^svc_[a-z]+_pk_/.test(key)) {
    throw new UsageError('This is a publishable key. The tools need a secret key, for example svc_test_sk_….');
  }
  if (allowWrites && !key.startsWith('svc_test_sk_')) {
    throw new UsageError(
      '--allow-writes needs a key of a sandbox (svc_test_sk_…). With a live key, an agent can ask for changes if the key has the permission agents:write.',
    );
  }
}

interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly uri?: string;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
}

/** Empty if the message needs no answer. */
async function answer(target: Target, line: string, allowWrites: boolean): Promise<string> {
  const message = parsed(line);
  if (!message) return JSON.stringify(failure(null, -32_700, 'This line is not a JSON object.'));
  try {
    const reply = await fetch(`${target.baseUrl}/mcp`, {
      method: 'POST',
      headers: {
        ...headersOf(message),
        Authorization: `Bearer ${target.key}`,
        ...(allowWrites && { 'SVC-Allow-Writes': 'sandbox' }),
      },
      body: line,
    });
    const text = messagesOf(await reply.text());
    if (message.id === undefined) return '';
    return isAnswer(text) ? text : JSON.stringify(failure(message.id, -32_603, refusalOf(text, reply.status)));
  } catch {
    const problem = `No response from ${target.baseUrl}. Is the service running?`;
    return message.id === undefined ? '' : JSON.stringify(failure(message.id, -32_603, problem));
  }
}

/** Over HTTP, headers repeat what a message of the newer revisions says of itself. */
function headersOf({ method, params }: Message): Record<string, string> {
  const version = params?.['_meta']?.['io.modelcontextprotocol/protocolVersion'];
  const name = params?.name ?? params?.uri;
  return {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    ...(typeof version === 'string' && {
      'MCP-Protocol-Version': version,
      'Mcp-Method': method ?? '',
      ...(name !== undefined && /^[\w./:-]+$/.test(name) && { 'Mcp-Name': name }),
    }),
  };
}

function parsed(line: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The older revisions answer with a stream of events, whose data are messages. */
function messagesOf(text: string): string {
  const data = text.split('\n').filter((line) => line.startsWith('data: {'));
  return data.length > 0 ? data.map((line) => line.slice('data: '.length).trim()).join('\n') : text.trim();
}

const isAnswer = (text: string): boolean => text.includes('"jsonrpc"');

function refusalOf(text: string, status: number): string {
  const { error } = (parsed(text) ?? {}) as { error?: { code: string; message: string } };
  return error ? `${status} ${error.code}: ${error.message}` : `The service returned ${status}.`;
}

const failure = (id: unknown, code: number, message: string): object => ({
  jsonrpc: '2.0',
  id,
  error: { code, message },
});
