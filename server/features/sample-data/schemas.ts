import Type, { type Static } from 'typebox';
import { line } from '../../http/schemas.ts';
import { choice } from '../../platform/choice.ts';

export const sampleData = Type.Object(
  {
    state: choice(['none', 'filling', 'filled', 'clearing'], { title: 'SampleDataState' }),
    done: Type.Integer({ description: 'How many steps are done.' }),
    total: Type.Integer(),
  },
  { title: 'SampleData' },
);
export type SampleData = Static<typeof sampleData>;

export const sandboxClear = Type.Object(
  { confirm: line({ description: 'The name of the sandbox, so that no other one is cleared by mistake.' }) },
  { additionalProperties: false, title: 'SandboxClear' },
);
export type SandboxClear = Static<typeof sandboxClear>;
