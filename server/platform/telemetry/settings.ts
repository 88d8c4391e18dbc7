import { ConfigurationError } from '../configuration-error.ts';

/**
 * The standard OTEL_* variables. The exporters themselves read OTEL_EXPORTER_OTLP_HEADERS, _TIMEOUT, _COMPRESSION and
 * the certificates, also by signal, from the process environment.
 */

export type Environment = Readonly<Record<string, string | undefined>>;

const signals = ['traces', 'metrics', 'logs'] as const;
type Signal = (typeof signals)[number];

/** Where each signal is sent; a signal that is not sent is absent. */
export type Destinations = Readonly<Partial<Record<Signal, string>>>;

const protocol = 'http/protobuf';

export function destinationsOf(env: Environment): Destinations {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true') return {};
  return Object.fromEntries(
    signals.flatMap((signal) => {
      const url = isSent(env, signal) ? urlOf(env, signal) : undefined;
      if (url !== undefined) checkProtocol(env, signal);
      return url === undefined ? [] : [[signal, url]];
    }),
  );
}

function isSent(env: Environment, signal: Signal): boolean {
  const exporters = env[`OTEL_${signal.toUpperCase()}_EXPORTER`] || 'otlp';
  return exporters.split(',').some((name) => name.trim() === 'otlp');
}

function urlOf(env: Environment, signal: Signal): string | undefined {
  const own = `OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_ENDPOINT`;
  const shared = 'OTEL_EXPORTER_OTLP_ENDPOINT';
  const name = env[own] ? own : shared;
  const value = env[name];
  if (!value) return undefined;
  if (!/^https?:$/.test(URL.parse(value)?.protocol ?? '')) {
    throw new ConfigurationError(`${name} must be the URL of a collector, for example http://127.0.0.1:4318.`);
  }
  return name === own ? value : value.replace(/\/*$/, `/v1/${signal}`);
}

function checkProtocol(env: Environment, signal: Signal): void {
  for (const name of [`OTEL_EXPORTER_OTLP_${signal.toUpperCase()}_PROTOCOL`, 'OTEL_EXPORTER_OTLP_PROTOCOL']) {
    if (env[name] === protocol) return;
    if (env[name]) throw new ConfigurationError(`${name} must be ${protocol}: the service sends no other protocol.`);
  }
}

/** A time in milliseconds. An invalid one has no effect, as OpenTelemetry specifies. */
export function millisecondsOf(env: Environment, name: string, otherwise: number): number {
  const value = Number(env[name]);
  return value > 0 && Number.isFinite(value) ? value : otherwise;
}

/** What the collector shows of this process. */
export function resourceAttributes(env: Environment, known: Readonly<Record<string, string>>): Record<string, string> {
  const attributes = { 'service.name': 'svc', ...known, ...pairsOf(env['OTEL_RESOURCE_ATTRIBUTES'] ?? '') };
  if (env['OTEL_SERVICE_NAME']) attributes['service.name'] = env['OTEL_SERVICE_NAME'];
  return attributes;
}

/** Reads `name=value,name=value`, with percent-encoded values. */
export function pairsOf(text: string): Record<string, string> {
  const pairs = text.split(',').flatMap((pair) => {
    const [, key, value] = /^\s*([^=\s]+)\s*=(.*)$/.exec(pair) ?? [];
    return key !== undefined && value !== undefined ? [[decode(key), decode(value.trim())]] : [];
  });
  return Object.fromEntries(pairs);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
