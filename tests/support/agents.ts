import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

/** The program of an agent: the official client, over HTTP. */

export interface AgentOptions {
  readonly headers?: Record<string, string>;
  /** The client can ask its user, who answers this. */
  readonly ask?: (question: string) => 'accept' | 'decline' | 'cancel';
}

export async function connectAgent(
  { baseUrl }: { readonly baseUrl: string },
  key: string,
  { headers = {}, ask }: AgentOptions = {},
): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    ask ? { capabilities: { elicitation: {} }, versionNegotiation: { mode: 'auto' } } : {},
  );
  if (ask) {
    client.setRequestHandler('elicitation/create', async ({ params }) => ({
      action: ask(params.message),
      content: {},
    }));
  }
  const requestInit = { headers: { Authorization: `Bearer ${key}`, ...headers } };
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', baseUrl), { requestInit }));
  return client;
}

/** The result of a tool, which is the same as text and as fields. */
export async function use(
  client: Client,
  name: string,
  input: Record<string, unknown> = {},
): Promise<Record<string, any>> {
  const result = await client.callTool({ name, arguments: input });
  const [content] = result.content;
  assert.ok(content?.type === 'text');
  if (result.structuredContent === undefined) return { isError: true, text: content.text };
  assert.deepEqual(JSON.parse(content.text), result.structuredContent, 'the text is the result as JSON');
  return { isError: result.isError ?? false, ...(result.structuredContent as object) };
}
