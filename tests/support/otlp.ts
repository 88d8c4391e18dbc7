/** Reads the protobuf messages of OTLP, as far as tests need them. Field numbers are those of opentelemetry-proto. */

type Kind = 'text' | 'hex' | 'integer' | 'fixed64' | 'fixed32' | 'double' | 'doubles' | 'fixed64s' | Message;

interface Message {
  readonly [field: number]: readonly [name: string, kind: Kind | (() => Message), isRepeated?: true];
}

type Value = string | number | boolean | Value[] | { [name: string]: Value };
type Attributes = Readonly<Record<string, Value>>;

const anyValue: Message = {
  1: ['string', 'text'],
  2: ['boolean', 'integer'],
  3: ['integer', 'integer'],
  4: ['double', 'double'],
  5: ['array', () => ({ 1: ['values', anyValue, true] })],
  6: ['map', () => ({ 1: ['values', keyValue, true] })],
};
const keyValue: Message = { 1: ['key', 'text'], 2: ['value', anyValue] };
const resource: Message = { 1: ['attributes', keyValue, true] };

const link: Message = { 1: ['traceId', 'hex'], 2: ['spanId', 'hex'] };
const span: Message = {
  1: ['traceId', 'hex'],
  2: ['spanId', 'hex'],
  4: ['parentSpanId', 'hex'],
  5: ['name', 'text'],
  6: ['kind', 'integer'],
  9: ['attributes', keyValue, true],
  13: ['links', link, true],
  15: ['status', { 2: ['message', 'text'], 3: ['code', 'integer'] }],
};
const point: Message = {
  2: ['start', 'fixed64'],
  3: ['time', 'fixed64'],
  4: ['value', 'double'],
  6: ['value', 'fixed64'],
  7: ['attributes', keyValue, true],
};
const histogramPoint: Message = {
  2: ['start', 'fixed64'],
  3: ['time', 'fixed64'],
  4: ['count', 'fixed64'],
  5: ['sum', 'double'],
  6: ['counts', 'fixed64s'],
  7: ['bounds', 'doubles'],
  9: ['attributes', keyValue, true],
};
const metric: Message = {
  1: ['name', 'text'],
  2: ['description', 'text'],
  3: ['unit', 'text'],
  5: ['gauge', { 1: ['points', point, true] }],
  7: ['sum', { 1: ['points', point, true], 2: ['temporality', 'integer'], 3: ['isMonotonic', 'integer'] }],
  9: ['histogram', { 1: ['points', histogramPoint, true], 2: ['temporality', 'integer'] }],
};
const logRecord: Message = {
  1: ['time', 'fixed64'],
  2: ['severityNumber', 'integer'],
  3: ['severityText', 'text'],
  5: ['body', anyValue],
  6: ['attributes', keyValue, true],
  9: ['traceId', 'hex'],
  10: ['spanId', 'hex'],
};

const inScopes = (item: Message): Message => ({
  1: ['resources', { 1: ['resource', resource], 2: ['scopes', { 2: ['items', item, true] }, true] }, true],
});

export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: Attributes;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status?: { readonly code?: number };
}

interface OtlpPoint {
  readonly attributes: Attributes;
  readonly start: number;
  readonly time: number;
  readonly value?: number;
  readonly count?: number;
  readonly sum?: number;
  readonly counts?: readonly number[];
  readonly bounds?: readonly number[];
}

export interface OtlpMetric {
  readonly name: string;
  readonly description: string;
  readonly unit?: string;
  readonly gauge?: { readonly points: readonly OtlpPoint[] };
  readonly sum?: { readonly points: readonly OtlpPoint[]; readonly isMonotonic?: number };
  readonly histogram?: { readonly points: readonly OtlpPoint[] };
}

export interface OtlpLog {
  readonly time: number;
  readonly severityNumber: number;
  readonly severityText: string;
  readonly body: string;
  readonly attributes: Attributes;
  readonly traceId?: string;
  readonly spanId?: string;
}

export interface Received<Item> {
  readonly resource: Attributes;
  readonly items: readonly Item[];
}

export const readTraces = (bytes: Buffer): Received<OtlpSpan>[] => receivedIn(bytes, span);
export const readMetrics = (bytes: Buffer): Received<OtlpMetric>[] => receivedIn(bytes, metric);
export const readLogs = (bytes: Buffer): Received<OtlpLog>[] => receivedIn(bytes, logRecord);

interface Grouped<Item> {
  readonly resources: readonly { readonly resource: { attributes: Attributes }; scopes: { items: Item[] }[] }[];
}

function receivedIn<Item>(bytes: Buffer, item: Message): Received<Item>[] {
  const { resources } = read(bytes, inScopes(item)) as unknown as Grouped<Item>;
  return resources.map((one) => ({
    resource: one.resource.attributes,
    items: one.scopes.flatMap(({ items }) => items),
  }));
}

function read(bytes: Buffer, message: Message): Value {
  const found: Record<string, Value> = {};
  for (const [name, , isRepeated] of Object.values(message)) if (isRepeated) found[name] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    const wire = tag & 7;
    const [name, kind, isRepeated] = message[tag >> 3] ?? [];
    const length = { 0: 0, 1: 8, 2: wire === 2 ? varint() : 0, 5: 4 }[wire];
    if (length === undefined) throw new Error(`wire type ${wire} is unknown`);
    const number = wire === 0 ? varint() : 0;
    const part = bytes.subarray(at, at + length);
    at += length;
    if (name === undefined || kind === undefined) continue;
    const value = wire === 0 ? number : valueOf(part, typeof kind === 'function' ? kind() : kind);
    if (isRepeated) (found[name] as Value[]).push(value);
    else found[name] = value;
  }
  return simplified(found, message);
}

/** A value as it is in JSON; attributes as an object. */
function simplified(found: Record<string, Value>, message: Message): Value {
  if (message === anyValue) return simpleValue(found);
  if (Array.isArray(found.attributes)) found.attributes = objectOf(found.attributes);
  return found;
}

function simpleValue(found: Record<string, Value>): Value {
  const { array, map, boolean } = found as { array?: { values: Value[] }; map?: { values: Value[] }; boolean?: number };
  if (boolean !== undefined) return boolean === 1;
  if (map) return objectOf(map.values);
  return array?.values ?? found.string ?? found.integer ?? found.double ?? '';
}

const objectOf = (pairs: Value[]): { [name: string]: Value } =>
  Object.fromEntries((pairs as { key: string; value: Value }[]).map(({ key, value }) => [key, value]));

function valueOf(part: Buffer, kind: Kind): Value {
  if (typeof kind === 'object') return read(part, kind);
  if (kind === 'text') return part.toString();
  if (kind === 'hex') return part.toString('hex');
  if (kind === 'double') return part.readDoubleLE();
  if (kind === 'fixed64') return Number(part.readBigInt64LE());
  if (kind === 'fixed32') return part.readUInt32LE();
  const each = Array.from({ length: part.length / 8 }, (_, index) => part.subarray(index * 8, index * 8 + 8));
  return each.map((bytes) => (kind === 'doubles' ? bytes.readDoubleLE() : Number(bytes.readBigInt64LE())));
}
