import { conditionMutants } from './condition-mutants.ts';
import type { Mutant } from './mutant.ts';
import { schemaMutants } from './schema-mutants.ts';
import { tableMutants } from './table-mutants.ts';

export async function listMutants(): Promise<Mutant[]> {
  return [...(await schemaMutants()), ...conditionMutants(), ...tableMutants()];
}
