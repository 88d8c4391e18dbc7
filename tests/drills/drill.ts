import { findProgram } from './support/programs.ts';

/** A drill: a failure simulated on running processes, with measured figures that are compared with our guarantees. */

export interface Drill {
  /** One line for the list of drills. */
  readonly summary: string;
  /** Programs that must be on the PATH; the drill is skipped if one of them is missing. */
  readonly programs: readonly string[];
  run(stage: DrillStage): Promise<readonly Figure[]>;
}

export interface DrillStage {
  /** The folder of the drill. It is removed after a drill that passed, and kept after one that failed. */
  readonly folder: string;
  /** Repeats the plan of a drill that makes random choices: `--seed`. */
  readonly seed?: number;
  /** The faults to play, of a drill that has several: `--faults`. Default: all of them. */
  readonly faults?: readonly string[];
  /** Prints progress. */
  note(text: string): void;
  /** Runs after the drill, in reverse order, even if the drill failed. */
  cleanUp(step: () => unknown): void;
}

/** A measured figure and its target. */
export interface Figure {
  readonly name: string;
  readonly value: string;
  /** Undefined for a figure without a target. */
  readonly wanted?: string;
  readonly met?: boolean;
}

export const atMost = (name: string, value: number, bound: number, unit = ''): Figure => ({
  name,
  value: `${round(value)}${unit}`,
  wanted: `≤ ${bound}${unit}`,
  met: value <= bound,
});

export const exactly = (name: string, value: string | number | boolean, wanted: string | number | boolean): Figure => ({
  name,
  value: String(value),
  wanted: String(wanted),
  met: value === wanted,
});

export const shown = (name: string, value: string | number): Figure => ({ name, value: String(value) });

const round = (value: number): string => String(Math.round(value * 10) / 10);

export function missingPrograms(drill: Drill, path: string): string[] {
  return drill.programs.filter((program) => !findProgram(program, path));
}

export const passed = (figures: readonly Figure[]): boolean =>
  figures.length > 0 && figures.every(({ met = true }) => met);

export function describeFigures(figures: readonly Figure[]): string {
  const nameWidth = Math.max(...figures.map(({ name }) => name.length));
  const valueWidth = Math.max(...figures.map(({ value }) => value.length));
  return figures
    .map(({ name, value, wanted, met }) => {
      const verdict = wanted === undefined ? '' : `  ${met ? 'PASS' : 'FAIL'}  wanted ${wanted}`;
      return `${name.padEnd(nameWidth)}  ${value.padEnd(valueWidth)}${verdict}`.trimEnd();
    })
    .join('\n');
}
