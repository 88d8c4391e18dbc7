import { cpSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Queryable } from '../../../server/platform/database.ts';
import { type FleetProcess, startProcess, thisRoot } from '../../support/fleet.ts';
import type { DrillStage } from '../drill.ts';

/** The next version of the service: this one with a further migration of a table in use. */

const column = 'added_by_the_next_version';
const migration = `-- expand, runs with 0.1.0\nALTER TABLE orders ADD COLUMN ${column} text;\n`;

export interface NextVersion {
  start(port: number, environment: Readonly<Record<string, string>>): Promise<FleetProcess>;
}

const readyMs = 120_000;

export function prepareNextVersion({ folder, cleanUp }: DrillStage): NextVersion {
  const root = join(folder, 'next-version');
  const isOwn = (path: string): boolean => !path.includes('node_modules');
  for (const name of ['server', 'cli', 'sdk', 'docs', 'pages', 'package.json'])
    cpSync(join(thisRoot, name), join(root, name), { recursive: true, filter: isOwn });
  for (const name of ['node_modules', 'server/node_modules', 'dashboard'])
    symlinkSync(join(thisRoot, name), join(root, name));
  writeFileSync(join(root, 'server/migrations/999999_next_version.sql'), migration);
  return {
    async start(port, environment) {
      const started = await startProcess({ name: 'the next version', root, port, environment, readyMs });
      cleanUp(() => started.stop());
      return started;
    },
  };
}

export async function hasNextVersion(db: Queryable): Promise<boolean> {
  const rows = await db.query(
    `SELECT 1 FROM information_schema.columns WHERE table_name = 'orders' AND column_name = '${column}'`,
  );
  return rows.length > 0;
}
