/** Lines of the log as tests read them. */
export interface LogLine {
  readonly severity_text: string;
  readonly severity_number: number;
  readonly timestamp: string;
  readonly trace_id?: string;
  readonly span_id?: string;
  readonly log_format: number;
  readonly body: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export const warnSeverity = 13;
const errorSeverity = 17;

export const logLine = (text: string): LogLine => ({
  attributes: {},
  ...(JSON.parse(text) as Omit<LogLine, 'attributes'>),
});

export const isError = ({ severity_number }: LogLine): boolean => severity_number >= errorSeverity;
