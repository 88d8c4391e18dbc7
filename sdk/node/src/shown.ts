/** What an object looks like when only some `fields` are asked for and some references are expanded. */

export type Chosen<Resource, Field extends keyof Resource> = keyof Resource extends Field
  ? Resource
  : Pick<Resource, Field | (keyof Resource & 'id')>;

export type Shown<Resource, Expansions, Expand extends keyof Expansions, Field extends keyof Resource> = [
  Expand,
] extends [never]
  ? Chosen<Resource, Field>
  : Omit<Chosen<Resource, Field>, Expand> & Pick<Expansions, Expand>;

export interface ExpandChoice<Expand> {
  /** References to show as whole objects. */
  readonly expand?: readonly Expand[] | undefined;
}

export interface FieldChoice<Field> {
  /** Leaves out all other fields; `id` is always there. */
  readonly fields?: readonly Field[] | undefined;
}
