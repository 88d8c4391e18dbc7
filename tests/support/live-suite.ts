import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { it } from 'node:test';
import { systemClock } from '../../server/platform/clock.ts';
import { checkConfiguration, type Configuration, type KindName } from '../../server/vault/processors/kind.ts';
import { kindNamed } from '../../server/vault/processors/kinds.ts';
import type { Notice } from '../../server/vault/processors/notices.ts';
import type { Processor } from '../../server/vault/processors/processor.ts';
import { problemsOf, recordStory } from '../../server/vault/processors/story.ts';
import { waitUntil } from './embedded-postgres.ts';

/**
 * The part of the live suites that all kinds share: it sends to a test account what the product sends, as a rehearsal does, and
 * compares the answers.
 */

/** Where notices arrive, for example behind a tunnel whose address is entered at the processor. */
const { SVC_LIVE_NOTICES_PORT: port } = process.env;

/** Receives notices as the API does: those with a valid signature are answered with 200. */
async function receiveNotices(processor: Processor) {
  const received: Notice[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const headers = request.headers as Record<string, string | undefined>;
      const reception = processor.receive?.({ headers, body: Buffer.concat(chunks), nowMs: systemClock.nowMs() });
      if (reception?.outcome === 'accepted') received.push(...reception.notices);
      response.statusCode = reception?.outcome === 'accepted' ? 200 : 400;
      response.end(reception?.outcome === 'accepted' ? reception.reply : 'refused');
    });
  });
  await new Promise<void>((resolve) => void server.listen(Number(port), resolve));
  return { received, close: () => void server.close() };
}

/** `configuration` is called when the test runs. */
export function answersTheProduct(name: KindName, configuration: () => Configuration): void {
  const kind = kindNamed(name);
  it('answers what the product sends as a rehearsal expects: first, equal, declined, retried, renewed, refunded', async () => {
    const entered = configuration();
    const options = { timeoutMs: kind.timeoutMs, extraOrigins: [] };
    const processor = kind.open(checkConfiguration(kind, entered), options);
    const receiver = port === undefined ? undefined : await receiveNotices(processor);
    try {
      const tested = await processor.test?.();
      assert.ok(tested?.outcome === 'works' && !tested.livemode, 'only test accounts take part');
      assert.deepEqual(problemsOf(await recordStory(kind, processor, entered)), []);
      // Without a port, only the answers are compared.
      if (receiver) await waitUntil(async () => receiver.received.some(({ about }) => about.kind !== 'other'), 120_000);
    } finally {
      receiver?.close();
    }
  });
}
