import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, tooManyRequests } from '../errors.ts';
import { limits } from '../limits.ts';
import { addressBucket } from '../platform/addresses.ts';
import { boundStrangers } from '../platform/stranger-connections.ts';
import { overloaded } from './work.ts';

/** The server emits this event, with the socket, when it rejects a request early whose key is known. */
export const knownCaller = 'known caller';

/**
 * Bounds the connections and bodies of callers that are not known yet: the bytes of all of them together, those of one
 * address, and the time that each may take. Beyond a bound, the body that has been incomplete for the longest time is
 * given up, not the latest: a client that does not mean harm sends its body within milliseconds.
 */
export function boundIntake(app: FastifyInstance, isProxy: (address: string) => boolean): void {
  const connections = boundStrangers(app.server, { isProxy });
  app.server.on(knownCaller, connections.know);
  const intake = new Intake();
  app.addHook('onRequest', (request, _reply, done) => {
    intake.begin(request);
    done();
  });
  app.addHook('preParsing', (request, reply, _payload, done) => {
    intake.end(request);
    if (request.work.isKnown) connections.know(request.raw.socket);
    else intake.receive(request, reply);
    done();
  });
  app.addHook('onResponse', (request, _reply, done) => {
    intake.end(request);
    done();
  });
}

interface Owner {
  readonly bucket: string;
  readonly incomplete: Set<Body>;
  bodies: number;
  bytes: number;
}

interface Body {
  readonly request: FastifyRequest;
  readonly owner: Owner;
  bytes: number;
  /** Runs until the body is complete. It would keep a body in memory that was given up. */
  timer?: NodeJS.Timeout;
}

/** What a connection with an incomplete request takes, in addition to the bytes of the body. */
const connectionBytes = 16 * 1024;

/** How many requests begin between two looks at what the waiting ones hold, at most 128 KiB each. */
const waitingPerLook = 32;

const { bytes: bytesMax, bytesOfAddress: bytesOfAddressMax, seconds: secondsMax } = limits.strangers;

const late = (): ApiError =>
  new ApiError('invalid_request', 'The request body took too long to arrive.', { status: 408 });

const crowded = (): ApiError => tooManyRequests('Too many incomplete requests from your IP address. Retry shortly.', 1);

class Intake {
  readonly #owners = new Map<string, Owner>();
  /** The bodies that are read, oldest first. */
  readonly #incomplete = new Set<Body>();
  /** The requests whose caller is looked up before their bodies are read. Until then Node holds what arrives. */
  readonly #waiting = new Set<IncomingMessage>();
  #bytes = 0;

  /** Called when the headers have arrived. */
  begin({ raw }: FastifyRequest): void {
    if (!hasBody(raw)) return;
    this.#waiting.add(raw);
    if (this.#waiting.size % waitingPerLook === 0) this.#closeWaiting();
  }

  end({ raw }: FastifyRequest): void {
    this.#waiting.delete(raw);
  }

  /** Called before the body of a caller that is not known is read. */
  receive(request: FastifyRequest, reply: FastifyReply): void {
    const { raw } = request;
    if (!hasBody(raw)) return;
    const body: Body = { request, owner: this.#ownerOf(request.ip), bytes: 0 };
    body.owner.bodies += 1;
    // Held until the response is sent: the body is in memory as long as it is worked on.
    reply.raw.once('close', () => this.#release(body));
    // Most bodies arrive with their headers.
    if (raw.complete) this.#add(body, raw.readableLength);
    else this.#watch(body);
  }

  #watch(body: Body): void {
    const { raw } = body.request;
    this.#incomplete.add(body);
    body.owner.incomplete.add(body);
    body.timer = setTimeout(() => this.#giveUp(body, late()), secondsMax * 1000);
    raw.once('end', () => this.#complete(body));
    raw.on('data', (chunk: Buffer) => {
      if (!this.#incomplete.has(body)) return;
      this.#add(body, chunk.length);
      this.#check(body.owner);
    });
    // Once the body has its reader, which gets the error.
    process.nextTick(() => this.#check(body.owner));
  }

  #check(owner: Owner): void {
    for (const body of owner.incomplete) {
      if (heldBy(owner.bytes, owner.incomplete) <= bytesOfAddressMax) break;
      this.#giveUp(body, crowded());
    }
    for (const body of this.#incomplete) {
      if (heldBy(this.#bytes, this.#incomplete) <= bytesMax) break;
      this.#giveUp(body, overloaded);
    }
  }

  /** The reader of the body gets the error, and so the client its response. */
  #giveUp(body: Body, error: ApiError): void {
    if (!this.#incomplete.has(body)) return;
    const { raw, work } = body.request;
    this.#complete(body);
    this.#add(body, -body.bytes);
    // A body without a reader is discarded as it arrives, and the request has its response.
    if (raw.listenerCount('error') === 0) return;
    work.isCut = true;
    raw.emit('error', error);
  }

  /** Closes the oldest connections until the rest is within the bound. What a stream holds is known only by looking. */
  #closeWaiting(): void {
    let held = heldBy(this.#bytes, this.#incomplete);
    for (const raw of this.#waiting) {
      if (raw.destroyed) this.#waiting.delete(raw);
      else held += raw.readableLength;
    }
    for (const raw of this.#waiting) {
      if (held <= bytesMax) return;
      held -= raw.readableLength;
      this.#waiting.delete(raw);
      raw.destroy();
    }
  }

  #ownerOf(address: string): Owner {
    const bucket = addressBucket(address);
    const known = this.#owners.get(bucket);
    if (known) return known;
    const owner = { bucket, incomplete: new Set<Body>(), bodies: 0, bytes: 0 };
    this.#owners.set(bucket, owner);
    return owner;
  }

  #add(body: Body, count: number): void {
    body.bytes += count;
    body.owner.bytes += count;
    this.#bytes += count;
  }

  #complete(body: Body): void {
    clearTimeout(body.timer);
    this.#incomplete.delete(body);
    body.owner.incomplete.delete(body);
  }

  #release(body: Body): void {
    this.#complete(body);
    this.#add(body, -body.bytes);
    body.owner.bodies -= 1;
    if (body.owner.bodies === 0) this.#owners.delete(body.owner.bucket);
  }
}

const heldBy = (bytes: number, incomplete: ReadonlySet<Body>): number => bytes + incomplete.size * connectionBytes;

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
