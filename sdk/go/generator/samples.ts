import { document, resolve } from '../../../tests/support/openapi.ts';
import { type Described, exampleOf, type Parameter } from '../../../server/pages/docs/openapi.ts';
import { withoutNull } from '../../generator/client.ts';
import { type ApiOperation, operations, referenceOf, type Schema, schemaNamed } from '../../generator/document.ts';
import { methodNames } from '../../generator/names.ts';
import { canBeNil, enumConstant, requestName, typeOf } from './models.ts';
import { goName } from './names.ts';
import { paramsName } from './resources.ts';

/** The samples of the API reference in Go: each operation with the example of the document. */

const described = { document, resolve } as unknown as Described;

interface Example {
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
}

const exampleFor = ({ path, method }: ApiOperation): Example =>
  (document.paths as unknown as Record<string, Record<string, Example>>)[path]?.[method.toLowerCase()] as Example;

/** `[]OrderItemInput` is `[]svc.OrderItemInput` outside of the package. */
const outside = (type: string): string => type.replaceAll(/(?<![\w.])[A-Z]\w*/g, 'svc.$&');

const builders: Readonly<Record<string, string>> = { string: 'String', int64: 'Int', bool: 'Bool' };

const timeOf = (text: string): string => {
  const [year, month, day, hour, minute, second] = text.split(/[-T:.Z]/).map(Number);
  return `time.Date(${[year, month, day, hour, minute, second].map((one) => one ?? 0).join(', ')}, 0, time.UTC)`;
};

const dateOf = (text: string): string => {
  const [year, month, day] = text.split('-').map(Number);
  return `svc.Date{Year: ${year}, Month: ${month}, Day: ${day}}`;
};

/** Without a schema: the value of a map. */
function anyLiteral(value: unknown): string {
  if (value === null) return 'nil';
  if (Array.isArray(value)) return `[]any{${value.map(anyLiteral).join(', ')}}`;
  if (typeof value !== 'object') return JSON.stringify(value);
  const entries = Object.entries(value).map(([name, one]) => `${JSON.stringify(name)}: ${anyLiteral(one)}`);
  return `map[string]any{${entries.join(', ')}}`;
}

function structLiteral(value: object, schema: Schema): string {
  const fields = Object.entries(value).map(([key, one]) => {
    const field = schema.properties?.[key];
    if (!field) throw new Error(`an example has ${key}, which its schema does not have`);
    return `${goName(key)}: ${fieldLiteral(one, field, schema.required?.includes(key) ?? false)},\n`;
  });
  return `{${fields.length > 0 ? '\n' : ''}${fields.join('')}}`;
}

/** `inner` is in a list, which names the type of its entries. */
function literal(value: unknown, given: Schema, inner = false): string {
  const { schema } = withoutNull(given);
  const type = typeOf(schema, 'request');
  if (type === 'time.Time') return timeOf(String(value));
  if (type === 'Date') return dateOf(String(value));
  const name = referenceOf(schema);
  const target = name ? schemaNamed(name) : schema;
  if (Array.isArray(value)) {
    const entries = value.map((one) => literal(one, target.items ?? {}, true));
    const isLong = entries.some((entry) => entry.includes('\n'));
    return `${outside(type)}{${isLong ? entries.map((one) => `\n${one},`).join('') + '\n' : entries.join(', ')}}`;
  }
  if (name && target.enum) return `svc.${enumConstant(name, value as string)}`;
  if (name && target.properties && typeof value === 'object') {
    return `${inner ? '' : `svc.${requestName(name)}`}${structLiteral(value ?? {}, target)}`;
  }
  if (type === 'float64') return Number.isInteger(value) ? `${String(value)}.0` : String(value);
  return type === 'AnchorDay' ? JSON.stringify(String(value)) : anyLiteral(value);
}

function fieldLiteral(value: unknown, field: Schema, required: boolean): string {
  const { schema, nullable } = withoutNull(field);
  const type = typeOf(schema, 'request');
  if (value === null) return `svc.Null[${outside(type)}]()`;
  const one = literal(value, field);
  if ((required && !nullable) || (canBeNil(type) && !nullable)) return one;
  if (type === 'AnchorDay') return `svc.Some(svc.AnchorDay(${one}))`;
  return `svc.${builders[type] ?? 'Some'}(${one})`;
}

function parametersOf(operation: ApiOperation): string[] {
  const { parameters, requestBody } = exampleFor(operation);
  const ids = operation.pathParameters.map((name) => {
    const found = parameters.map((one) => resolve(one)).find((one) => one.in === 'path' && one.name === name);
    return JSON.stringify(String(found ? exampleOf(found.schema, described) : name));
  });
  const body = requestBody?.content['application/json'];
  const bodyName = referenceOf(operation.body);
  if (operation.upload) return [...ids, 'picture'];
  if (body && bodyName) {
    const isEmpty = Object.keys(body.example ?? {}).length === 0;
    return [...ids, isEmpty ? 'nil' : `&${literal(body.example, operation.body ?? {})}`];
  }
  if (operation.item) return [...ids, `&svc.${paramsName(operation)}{Limit: svc.Int(10)}`];
  return operation.query.length + operation.expand.length > 0 || operation.fieldsOf ? [...ids, 'nil'] : ids;
}

const failed = 'if err != nil {\n\tlog.Fatal(err)\n}\n';

function sampleOf(operation: ApiOperation): string {
  const path = (methodNames[operation.id] ?? '').split('.').map(goName);
  const call = `client.${path.join('.')}(${['ctx', ...parametersOf(operation)].join(', ')})`;
  if (operation.item) {
    const one = (methodNames[operation.id] ?? '').split('.')[0]?.replace(/s$/, '') ?? 'one';
    return `for ${one}, err := range ${call}.All() {\n${failed}fmt.Println(${one}.ID)\n}`;
  }
  const start = operation.upload ? `picture, err := os.ReadFile("picture.png")\n${failed}\n` : '';
  return `${start}result, err := ${call}`;
}

const [before, between, after] = ['package samples\n', '\nfunc sample() {\n', '\n}\n'];

/** One program with all samples, in the order of the operations, for gofmt. */
export const samplesProgram = (): string =>
  before + operations.map((operation) => `${between}${sampleOf(operation)}${after}`).join('');

/** What gofmt made of the program, as a file that the API reference reads. */
export function samplesFile(formatted: string): string {
  const codes = formatted
    .split(between)
    .slice(1)
    .map((code) => code.replace(/\n\}\s*$/, '').replaceAll(/^\t/gm, ''));
  if (codes.length !== operations.length) throw new Error('gofmt has changed the number of samples');
  return `${JSON.stringify(Object.fromEntries(operations.map(({ id }, index) => [id, codes[index]])), null, 2)}\n`;
}
