import type { Attributes, SeverityNumber } from '@opentelemetry/api';
import type { Libraries } from './libraries.ts';

type Emit = ReturnType<InstanceType<Libraries['logs']['LoggerProvider']>['getLogger']>;

interface Line {
  readonly severity_text: string;
  readonly severity_number: SeverityNumber;
  readonly timestamp: string;
  readonly trace_id?: string;
  readonly span_id?: string;
  readonly attributes?: Attributes;
  readonly body: string;
}

/** Reads the line that was written, so that the collector gets exactly what the log has. */
export function lineExporter({ api }: Libraries, logger: Emit): (line: string) => void {
  return (text) => {
    const { severity_text, severity_number, timestamp, trace_id, span_id, attributes, body } = JSON.parse(text) as Line;
    const span =
      trace_id && span_id ? { traceId: trace_id, spanId: span_id, traceFlags: api.TraceFlags.SAMPLED } : null;
    logger.emit({
      timestamp: new Date(timestamp),
      severityText: severity_text,
      severityNumber: severity_number,
      body,
      ...(attributes && { attributes }),
      context: span ? api.trace.setSpanContext(api.ROOT_CONTEXT, span) : api.ROOT_CONTEXT,
    });
  };
}
