import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { systemClock } from '../../../platform/clock.ts';
import { Secret } from '../../../platform/secret.ts';
import { openFake } from './fake.ts';

/** The simulated Stripe as a program. It may be killed at any moment: everything it has answered is in its journal. */

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    journal: { type: 'string' },
    secret: { type: 'string' },
    'late-ms': { type: 'string', default: '1000' },
  },
});

function count(name: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new Error(`--${name} must be a whole number`);
  return Number(text);
}

if (!values.journal || !values.secret) throw new Error('--journal FILE and --secret TEXT are required');

const server = await openFake({
  journalFile: values.journal,
  secret: new Secret(values.secret),
  clock: systemClock,
  lateMs: count('late-ms', values['late-ms']),
});
server.listen(count('port', values.port), '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`);
