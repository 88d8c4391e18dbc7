import type { Static, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/compile';

/** Tells whether a value from outside has the shape of a schema. */
export interface SchemaCheck<Schema extends TSchema> {
  Check(value: unknown): value is Static<Schema>;
}

/** Compiles the schema when it is first used: most processes need only a few, and compiling all of them delays the start. */
export function checkOf<Schema extends TSchema>(schema: Schema): SchemaCheck<Schema> {
  let validator: Validator<{}, Schema> | undefined;
  return {
    Check(value): value is Static<Schema> {
      validator ??= Compile(schema);
      return validator.Check(value);
    },
  };
}
