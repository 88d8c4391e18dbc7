import type { Attributes } from '@opentelemetry/api';
import { histogram } from '../../platform/metrics.ts';
import { traced } from '../../platform/spans.ts';
import type { Outcome, Preparation, Prepared, Processor, ResumeOutcome } from './processor.ts';

/** Measures the calls to processors, and notices a processor that does not answer. */

const observe = histogram('svc_processor_call_duration_seconds');

export interface ProcessorHealth {
  /** Undefined if the last call reached the processor. */
  note(processor: string, problem: string | undefined): void;
  /** The problem of a processor that has not answered lately. */
  problem(): string | undefined;
}

/** One lost answer is no outage. */
const failuresMin = 3;
/** Without calls, nothing is known after this time. */
const forgottenMs = 600_000;

export function watchProcessors(nowMs: () => number = () => performance.now()): ProcessorHealth {
  const failing = new Map<string, { count: number; atMs: number; reason: string }>();
  return {
    note(processor, reason) {
      if (reason === undefined) failing.delete(processor);
      else failing.set(processor, { count: (failing.get(processor)?.count ?? 0) + 1, atMs: nowMs(), reason });
    },
    problem() {
      const found = [...failing.values()].find(
        ({ count, atMs }) => count >= failuresMin && nowMs() - atMs < forgottenMs,
      );
      return found && `a processor did not answer the last ${found.count} requests: ${found.reason}`;
    },
  };
}

type Result = Parameters<typeof observe>[0]['result'];
/** The kind of the connection, or the sandbox. */
type ProcessorName = Parameters<typeof observe>[0]['processor'];
type MeasuredCall = Parameters<typeof observe>[0]['operation'];
type Answered = { readonly outcome: Result; readonly reason?: string; readonly failureCode?: string };
/** The charge itself follows, and is measured. */
type Ready = Pick<Prepared, 'outcome'>;

const isPrepared = (answer: Answered | Ready): answer is Ready => answer.outcome === 'prepared';

const silent: readonly Result[] = ['not_sent', 'unknown', 'failed'];

export function observedProcessor(
  processor: Processor,
  name: ProcessorName,
  note: (problem: string | undefined) => void = () => undefined,
): Processor {
  async function measured<Answer>(
    operation: MeasuredCall,
    call: () => Promise<Answer>,
    read: (answer: Answer) => Answered | Ready,
    step: string = operation,
  ): Promise<Answer> {
    const startedMs = performance.now();
    const end = (answer: Answered | Ready): void => {
      if (isPrepared(answer)) return;
      const { outcome: result, reason, failureCode } = answer;
      observe({ processor: name, operation, result }, (performance.now() - startedMs) / 1_000);
      // These say nothing about the processor, which was not called.
      const isNotTaken = result === 'not_sent' && failureCode !== undefined;
      const awaitsNotice = operation === 'lookup' && result === 'unknown' && processor.findsBy === 'notice';
      if (!isNotTaken && !awaitsNotice) note(silent.includes(result) ? (reason ?? result) : undefined);
    };
    try {
      const attributes = { 'svc.processor': name };
      const describe = (found: Answer): Attributes => ({ 'svc.outcome': read(found).outcome });
      const answer = await traced(`processor ${step}`, { kind: 'client', attributes, describe }, call);
      end(read(answer));
      return answer;
    } catch (error) {
      end({ outcome: 'failed' });
      throw error;
    }
  }
  const itself = <Answer>(answer: Answer): Answer => answer;
  return {
    ...processor,
    ...(processor.prepare && {
      prepare: (request) =>
        measured(
          request.authorizesOnly ? 'authorize' : 'charge',
          async () => processor.prepare?.(request) as Promise<Preparation>,
          itself,
          'prepare',
        ),
    }),
    charge: (request) =>
      measured(request.authorizesOnly ? 'authorize' : 'charge', () => processor.charge(request), itself),
    ...(processor.capture && {
      capture: (request) => measured('capture', async () => processor.capture?.(request) as Promise<Outcome>, itself),
    }),
    refund: (request) => measured('refund', () => processor.refund(request), itself),
    void: (request) => measured('void', () => processor.void(request), itself),
    lookup: (request) => measured('lookup', () => processor.lookup(request), itself),
    ...(processor.resume && {
      resume: (request) =>
        measured('resume', async () => processor.resume?.(request) as Promise<ResumeOutcome | Prepared>, itself),
    }),
    ...(processor.list && {
      list: (request) =>
        measured(
          'list',
          async () => processor.list?.(request),
          () => ({ outcome: 'done' }),
        ) as never,
    }),
  };
}
