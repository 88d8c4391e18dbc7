import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import { signatureHeaders, signingKey } from '../server/features/webhooks/signing.ts';

/** A client that only signs and posts with the same concurrency, for comparison with the dispatcher. */

export interface ClientJob {
  readonly urls: readonly string[];
  readonly body: string;
  readonly count: number;
  readonly concurrency: number;
}

const ca = readFileSync(new URL('../tests/support/certificates/ca.pem', import.meta.url), 'utf8');
const key = signingKey(`whsec_${Buffer.alloc(32, 1).toString('base64')}`);

async function run({ urls, body, count, concurrency }: ClientJob): Promise<number> {
  const dispatcher = new Agent({ connect: { ca }, connections: concurrency });
  let sent = 0;
  const startedAtMs = performance.now();
  async function loop(): Promise<void> {
    while (sent < count) {
      const number = sent;
      sent += 1;
      const eventId = `evt_${number}`;
      const timestampSeconds = Math.floor(Date.now() / 1000);
      const headers = {
        'content-type': 'application/json',
        'svc-event-id': eventId,
        ...signatureHeaders([key], { eventId, body, timestampSeconds }),
      };
      const url = urls[number % urls.length] ?? '';
      const answer = await request(url, { dispatcher, method: 'POST', headers, body });
      await answer.body.dump();
    }
  }
  await Promise.all(Array.from({ length: concurrency }, loop));
  const elapsedSeconds = (performance.now() - startedAtMs) / 1000;
  await dispatcher.close();
  return count / elapsedSeconds;
}

process.on('message', (job: ClientJob) => {
  run(job).then(
    (perSecond) => process.send?.({ perSecond }),
    (error: Error) => process.send?.({ error: error.stack }),
  );
});
