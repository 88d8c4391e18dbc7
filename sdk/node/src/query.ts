/** Converts the parameters of a call to a path and a query string. */

type Bounds = Readonly<Record<string, string | number | undefined>>;

type QueryValue = string | number | boolean | undefined | null | readonly (string | number)[] | Bounds;

/** `{created_at: {gte: '2026-01-01'}}` is sent as `created_at[gte]`, a list with commas. */
export function queryOf(parameters: object, fieldsOf: string | undefined): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters) as [string, QueryValue][]) {
    if (value === undefined || value === null) continue;
    const sentName = name === 'fields' && fieldsOf ? `fields[${fieldsOf}]` : name;
    if (Array.isArray(value)) query.set(sentName, value.join(','));
    else if (typeof value === 'object') appendBounds(query, sentName, value as Bounds);
    else query.set(sentName, String(value));
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

function appendBounds(query: URLSearchParams, name: string, bounds: Bounds): void {
  for (const [bound, value] of Object.entries(bounds)) {
    if (value !== undefined) query.set(`${name}[${bound}]`, String(value));
  }
}

/** Inserts the IDs into `/v1/orders/{id}`. */
export function pathOf(template: string, ids: readonly string[]): string {
  let index = 0;
  return template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const id = ids[index];
    index += 1;
    // An empty ID or `..` would lead to another path, for example to the list.
    if (typeof id !== 'string' || /^\.{0,2}$/.test(id)) throw new TypeError(`${name} must be the ID of an object`);
    return encodeURIComponent(id);
  });
}
