import type { FastifyReply, FastifyRequest } from 'fastify';
import { limits } from '../limits.ts';

/**
 * Reads the rest of a rejected request before the response is sent: many clients send their whole body first, and
 * report a broken connection instead of our response if they cannot. Each request is limited in bytes, time and
 * silence, and all together in speed, so that rejected uploads do not slow down other requests.
 */
export type Discard = (request: FastifyRequest, reply: FastifyReply) => Promise<void> | undefined;

const mebibyte = 1024 * 1024;
const bounds = {
  caller: { bytes: 64 * mebibyte, ms: 30_000 },
  // Enough for the largest body that the API accepts, sent with a wrong key.
  stranger: { bytes: 12 * mebibyte, ms: limits.strangers.seconds * 1000 },
};
const silenceMs = 1_000;
const bytesPerMs = (16 * mebibyte) / 1000;
const pauseMsMin = 10;

export function createDiscard(): Discard {
  let freeAtMs = 0;

  /** Returns how long the sender of these bytes must pause, so that all together stay below the speed limit. */
  function pauseAfter(bytes: number): number {
    const nowMs = performance.now();
    freeAtMs = Math.max(freeAtMs, nowMs) + bytes / bytesPerMs;
    return freeAtMs - nowMs;
  }

  function readRest({ raw, admitted, work }: FastifyRequest): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const bound = admitted ? bounds.caller : bounds.stranger;
    let left = bound.bytes;
    let paused: NodeJS.Timeout | undefined;
    const deadline = setTimeout(finish, bound.ms);
    const silence = setTimeout(finish, silenceMs);

    function onData(chunk: Buffer): void {
      left -= chunk.length;
      work.streamedBytes += chunk.length;
      if (left < 0) return finish();
      const pauseMs = pauseAfter(chunk.length);
      silence.refresh();
      if (pauseMs < pauseMsMin) return;
      raw.pause();
      paused = setTimeout(() => raw.resume(), pauseMs);
    }

    function finish(): void {
      for (const timer of [deadline, silence, paused]) clearTimeout(timer);
      raw.off('data', onData).off('end', finish).off('close', finish).off('error', finish);
      resolve();
    }

    raw.on('data', onData).once('end', finish).once('close', finish).once('error', finish).resume();
    return promise;
  }

  return (request, reply) => {
    const { raw, headers, work } = request;
    if (raw.complete || raw.destroyed) return undefined;
    if (work.isCut) {
      reply.header('Connection', 'close');
      return undefined;
    }
    // Node reads the rest of a small body itself, and the connection can be used again.
    const isSmall = Number(headers['content-length'] ?? Infinity) <= limits.publicBodyBytes;
    const hasBody = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
    if (!hasBody || (isSmall && reply.statusCode !== 413)) return undefined;
    return readRest(request).then(() => {
      // The rest of the body would be mistaken for the next request.
      if (!raw.complete) reply.header('Connection', 'close');
    });
  };
}
