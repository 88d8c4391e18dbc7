import { svc } from '../../support/command.ts';
import { atMost, exactly, type Figure, shown } from '../drill.ts';

/** Companies move to another shard and back while they are in use. */

export interface PlacedCompany {
  readonly companyId: string;
  readonly shard: string;
}

/** A reply to a request of a company. */
export interface TimedReply {
  readonly companyId: string;
  readonly atMs: number;
  readonly failed: boolean;
  /** What a failed one was answered with. */
  readonly problem: string;
}

interface Window extends PlacedCompany {
  readonly fromMs: number;
  readonly toMs: number;
  readonly stopMs: number;
}

/** How many companies move at the same time. */
const width = 3;

/** Only a company that moves may have to repeat a request, for a moment. */
export async function moveAll(
  environment: Readonly<Record<string, string>>,
  shards: readonly string[],
  companies: readonly PlacedCompany[],
  replies: () => readonly TimedReply[],
): Promise<Figure[]> {
  const waiting = [...companies];
  const windows: Window[] = [];

  async function move(companyId: string, shard: string): Promise<void> {
    const fromMs = performance.now();
    const words = ['companies', 'move', '--company', companyId, '--to', shard, '--json'];
    const { code, stdout, stderr } = await svc({ ...environment }, ...words);
    if (code !== 0) throw new Error(`svc ${words.join(' ')}: ${stderr}`);
    const { stop_ms: stopMs } = JSON.parse(stdout) as { stop_ms: number };
    windows.push({ companyId, shard, fromMs, toMs: performance.now(), stopMs });
  }

  async function moveSome(): Promise<void> {
    for (let company = waiting.shift(); company; company = waiting.shift()) {
      const { companyId, shard } = company;
      await move(companyId, shards.find((name) => name !== shard) ?? '');
      await move(companyId, shard);
    }
  }

  await Promise.all(Array.from({ length: width }, moveSome));
  const [fromMs, toMs] = [Math.min(...windows.map((one) => one.fromMs)), Math.max(...windows.map((one) => one.toMs))];
  const during = replies().filter(({ atMs }) => atMs >= fromMs && atMs < toMs);
  const moves = ({ companyId, atMs }: TimedReply): boolean =>
    windows.some((one) => one.companyId === companyId && atMs >= one.fromMs && atMs < one.toMs);
  const others = during.filter((reply) => !moves(reply));
  return [
    shown('moves of companies', windows.length),
    atMost('longest stop of writes', Math.max(...windows.map(({ stopMs }) => stopMs)), 1_000, ' ms'),
    shown('requests of other companies meanwhile', others.length),
    ...failures('failed ones of them', others),
    shown(
      'requests that the moving companies had to repeat',
      during.filter((reply) => moves(reply) && reply.failed).length,
    ),
  ];
}

/** None may fail. If some did, says why. */
export function failures(name: string, replies: readonly TimedReply[]): Figure[] {
  const failed = replies.filter((reply) => reply.failed);
  const problems = Map.groupBy(failed, ({ problem }) => problem);
  const counted = [...problems].map(([problem, { length }]) => `${length} × ${problem}`).join('; ');
  return [exactly(name, failed.length, 0), ...(failed.length > 0 ? [shown('their answers', counted)] : [])];
}
