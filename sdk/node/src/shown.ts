/** The type of an object with selected `fields` and expanded references. */

export type Chosen<Resource, Field extends keyof Resource> = keyof Resource extends Field
  ? Resource
  : Pick<Resource, Field | (keyof Resource & 'id')>;

export type Shown<Resource, Expansions, Expand extends keyof Expansions, Field extends keyof Resource> = [
  Expand,
] extends [never]
  ? Chosen<Resource, Field>
  : Omit<Chosen<Resource, Field>, Expand> & Pick<Expansions, Expand>;

export interface ExpandChoice<Expand> {
  /** References to return as complete objects. */
  readonly expand?: readonly Expand[] | undefined;
}

export interface FieldChoice<Field> {
  /** Returns only these fields; `id` is always included. */
  readonly fields?: readonly Field[] | undefined;
}
