import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { openSimulator } from './simulators.ts';
import { kindNamed } from '../server/vault/processors/kinds.ts';

/** A simulated processor as a program: `main.ts KIND --journal FILE --secret TEXT`. It prints its URL. */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    port: { type: 'string', default: '0' },
    journal: { type: 'string' },
    secret: { type: 'string' },
    'settle-after-ms': { type: 'string' },
    'request-life-ms': { type: 'string' },
    'hmac-key': { type: 'string' },
    'merchant-account': { type: 'string' },
    account: { type: 'string', default: '{}' },
  },
});

function count(name: 'port' | 'settle-after-ms' | 'request-life-ms'): number | undefined {
  const text = values[name];
  if (text !== undefined && !/^\d{1,15}$/.test(text)) throw new Error(`--${name} must be a whole number`);
  return text === undefined ? undefined : Number(text);
}

const { kind } = kindNamed(positionals[0] ?? 'acquirer');
if (!values.journal || !values.secret) throw new Error('--journal FILE and --secret TEXT are required');

const server = await openSimulator(kind, {
  journalFile: values.journal,
  secret: values.secret,
  settleAfterMs: count('settle-after-ms'),
  requestLifeMs: count('request-life-ms'),
  hmacKey: values['hmac-key'],
  merchantAccount: values['merchant-account'],
  account: JSON.parse(values.account),
});
server.listen(count('port'), '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`);
