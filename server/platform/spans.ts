import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attributes, Context, Link, Span, SpanContext } from '@opentelemetry/api';

/**
 * Spans below the request. Code calls `traced`; without tracing, that is only a call of the function. Tracing installs
 * the tracer, so that the libraries are not loaded without it.
 */

export interface Tracer {
  start(name: string, kind: SpanKind, attributes: Attributes, parent: Context, links: readonly Link[]): Span;
  contextWith(span: Span, parent: Context): Context;
  contextOf(traceparent: string | undefined): Context;
  linkTo(context: Context): Link | undefined;
  spanContextOf(context: Context): SpanContext | undefined;
  traceparentOf(context: Context): string | undefined;
  /** Marks the span as failed. */
  fail(span: Span, error: unknown): void;
}

/** What the running code belongs to. */
interface Place {
  readonly context: Context;
  /** The other requests that share the work. */
  readonly links: readonly Link[];
}

const storage = new AsyncLocalStorage<Place | undefined>();
let tracer: Tracer | undefined;

export function installTracer(installed: Tracer | undefined): void {
  tracer = installed;
}

/** Within the process, a call to another one, or a message to a receiver. */
type SpanKind = 'internal' | 'client' | 'producer';

interface SpanOptions {
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
  /** The result of the work, as attributes of its span. */
  readonly describe?: (result: never) => Attributes;
}

/** Runs the work in a span below the current one. Without a current one there is no span. */
export function traced<Result>(name: string, options: SpanOptions, work: () => Promise<Result>): Promise<Result> {
  const place = tracer && storage.getStore();
  return tracer && place ? inSpan(tracer, name, options, place, work) : work();
}

/**
 * Runs the work in a span of its own trace, with a link to the trace that caused it: they are apart in time, and one
 * cause can have several effects.
 */
export function tracedAlone<Result>(
  name: string,
  options: SpanOptions,
  cause: string | null | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!tracer) return work();
  const link = cause ? tracer.linkTo(tracer.contextOf(cause)) : undefined;
  return inSpan(tracer, name, options, { context: tracer.contextOf(undefined), links: link ? [link] : [] }, work);
}

async function inSpan<Result>(
  installed: Tracer,
  name: string,
  { kind = 'internal', attributes = {}, describe }: SpanOptions,
  { context, links }: Place,
  work: () => Promise<Result>,
): Promise<Result> {
  const span = installed.start(name, kind, attributes, context, links);
  try {
    const inner = { context: installed.contextWith(span, context), links: [] };
    const result = await storage.run(inner, work);
    if (describe) span.setAttributes(describe(result as never));
    return result;
  } catch (error) {
    installed.fail(span, error);
    throw error;
  } finally {
    span.end();
  }
}

/** Runs the work as a part of a request. */
export function runIn<Result>(context: Context, work: () => Result): Result {
  return storage.run({ context, links: [] }, work);
}

/** The W3C header for a call to another process, or for the record of what the running request caused. */
export function traceparent(): string | undefined {
  const place = tracer && storage.getStore();
  return tracer && place && place.links.length === 0 ? tracer.traceparentOf(place.context) : undefined;
}

/** The current span, for the log. Work for several requests belongs to none of them. */
export function spanIds(): SpanContext | undefined {
  const place = tracer && storage.getStore();
  return tracer && place && place.links.length === 0 ? tracer.spanContextOf(place.context) : undefined;
}

export function traceHeaders(): { readonly traceparent?: string } {
  const header = traceparent();
  return header === undefined ? {} : { traceparent: header };
}

/** Remembers where an item of a batch comes from. */
export const currentPlace = (): Place | undefined => (tracer ? storage.getStore() : undefined);

/** Runs work for several requests: below the first one, with links to the others. */
export function runForAll<Result>(places: readonly (Place | undefined)[], work: () => Result): Result {
  const installed = tracer;
  if (!installed) return work();
  const [first, ...others] = places.filter((place) => place !== undefined);
  if (!first) return storage.run(undefined, work);
  const links = others.flatMap(({ context }) => installed.linkTo(context) ?? []);
  return storage.run({ context: first.context, links }, work);
}
