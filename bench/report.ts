import { mkdir, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import type { BenchOptions, Cell, Report, Table } from './workload.ts';

const show = (cell: Cell | undefined): string => (cell === null || cell === undefined ? '–' : String(cell));

export function formatTable({ title, columns, rows }: Table): string {
  const widths = columns.map((column, index) => Math.max(column.length, ...rows.map((row) => show(row[index]).length)));
  const line = (cells: readonly Cell[]): string =>
    columns
      .map((_, index) => {
        const text = show(cells[index]);
        const width = widths[index] ?? 0;
        return typeof cells[index] === 'number' ? text.padStart(width) : text.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  return ['', title, '', line(columns), ...rows.map(line), ''].join('\n');
}

export function formatReport({ tables, targets }: Report): string {
  const checks = targets.map(({ name, wanted, measured, met }): Cell[] => [
    name,
    wanted,
    measured,
    met ? 'met' : 'MISSED',
  ]);
  const summary = { title: 'Targets', columns: ['target', 'wanted', 'measured', ''], rows: checks };
  return [...tables, summary].map(formatTable).join('');
}

export async function saveReport(name: string, report: Report, options: BenchOptions): Promise<string> {
  const folder = join(import.meta.dirname, 'results');
  const file = join(folder, `${name}.json`);
  const machine = {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
  };
  await mkdir(folder, { recursive: true });
  await writeFile(file, `${JSON.stringify({ at: new Date().toISOString(), machine, options, ...report }, null, 2)}\n`);
  return file;
}
