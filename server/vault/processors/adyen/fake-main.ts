import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { systemClock } from '../../../platform/clock.ts';
import { Secret } from '../../../platform/secret.ts';
import { openFake } from './fake.ts';

/** The fake of Adyen as a program. It may be killed at any moment: everything it has answered is in its journal. */

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    journal: { type: 'string' },
    secret: { type: 'string' },
    'hmac-key': { type: 'string', default: '00'.repeat(32) },
    'merchant-account': { type: 'string', default: 'SvcECOM' },
    'request-life-ms': { type: 'string', default: '60000' },
  },
});

if (!values.journal || !values.secret) throw new Error('--journal FILE and --secret API_KEY are required');
if (!/^\d{1,15}$/.test(values['request-life-ms'])) throw new Error('--request-life-ms must be a whole number');

const server = await openFake({
  journalFile: values.journal,
  apiKey: new Secret(values.secret),
  hmacKey: new Secret(values['hmac-key']),
  merchantAccount: values['merchant-account'],
  clock: systemClock,
  requestLifeMs: Number(values['request-life-ms']),
});
server.listen(Number(values.port), '127.0.0.1');
await once(server, 'listening');
const { port } = server.address() as AddressInfo;
process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`);
