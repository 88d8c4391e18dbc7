import type { Config } from '../server/config.ts';
import { loadConfig } from '../server/config.ts';
import { abortMove, accountsOn, type Mover, moveCompanies } from '../server/shards/move/move.ts';
import { applyMoves, planMoves } from '../server/shards/move/rebalance.ts';
import { MoveError } from '../server/shards/move/sql.ts';
import { findDraining } from '../server/shards/queries.ts';
import { firstShard, type Shards } from '../server/shards/shards.ts';
import { isUnavailable } from '../server/platform/database.ts';
import { isDiskFull } from '../server/platform/disk-full.ts';
import { isUuid } from '../server/platform/ids.ts';
import { CommandError, UsageError } from './command-error.ts';
import { onEachShard, withShards } from './connect.ts';
import type { Flags } from './options.ts';

/** A request that began before the switch ends by then, even if its processor answers late. */
const keptMs = 20_000;

/** Connects to every shard as the owner. Errors that the operator can fix are shown without a trace. */
async function withMover(work: (mover: Mover, shards: Shards) => Promise<string>): Promise<string> {
  const config = loadConfig(process.env);
  try {
    return await withShards(config, (shards) => {
      if (shards.all.length === 1)
        throw new CommandError('There is only one shard. Name the others in SVC_SHARDS; see docs/scaling.md.');
      const onStep = (step: string): void => void process.stderr.write(`${step} …\n`);
      return work({ shards, urlOf: (shard) => urlOf(config, shard), keptMs, onStep }, shards);
    });
  } catch (error) {
    if (error instanceof MoveError) throw new CommandError(error.message);
    const { message } = error as Error;
    if (isDiskFull(error))
      throw new CommandError(
        `The disk of a database is full (${message}). Make room and run this command again: it continues.`,
      );
    if (!isUnavailable(error)) throw error;
    // A failover ends the connections of the command.
    throw new CommandError(
      `A database went away during the move (${message}). Run this command again when it is back: it continues.`,
    );
  }
}

function urlOf({ DATABASE_URL, SVC_SHARDS }: Config, shard: string): string {
  const url = shard === firstShard ? DATABASE_URL : SVC_SHARDS.get(shard);
  if (!url) throw new CommandError('Companies move between servers that DATABASE_URL and SVC_SHARDS name.');
  return url.reveal();
}

export async function moveCommand(_words: readonly string[], flags: Flags): Promise<string> {
  const { company, to, abort, json } = flags;
  if (company && !isUuid(company))
    throw new CommandError(
      `"${company}" is not the ID of a company. The settings in the dashboard show it, and so does svc companies list.`,
    );
  if (!company || (abort ? to !== undefined : to === undefined))
    throw new UsageError('Use companies move --company ID --to SHARD, or companies move --company ID --abort.');
  return withMover(async (mover, shards) => {
    const target = abort ? undefined : chosenTarget(shards, to);
    const moved = target ? await moveCompanies(mover, company, target) : await abortMove(mover, company);
    const stopMs = moved.stopMs === undefined ? null : Math.round(moved.stopMs);
    const { companyIds, from } = moved;
    if (json)
      return `${JSON.stringify({ companies: companyIds, from, to: moved.to, aborted: abort ?? false, stop_ms: stopMs })}\n`;
    if (abort) return `The companies stay on shard ${from}; nothing of them is left on ${moved.to}.\n`;
    if (stopMs === null) return `The ${companyIds.length} companies were on shard ${moved.to} already.\n`;
    return `${companyIds.length} companies are on shard ${moved.to}. Writes were refused for ${stopMs} ms.\n`;
  });
}

function chosenTarget(shards: Shards, to: string | undefined): string {
  if (shards.all.some(({ name }) => name === to)) return to as string;
  throw new UsageError(`Choose a shard with --to: ${shards.all.map(({ name }) => name).join(', ')}.`);
}

export async function rebalanceCommand(_words: readonly string[], flags: Flags): Promise<string> {
  if (Boolean(flags['dry-run']) === Boolean(flags.apply))
    throw new UsageError('Use companies rebalance --dry-run or companies rebalance --apply.');
  return withMover(async (mover, shards) => {
    const draining = await findDraining(shards.control);
    const loads = await onEachShard(shards.all, async (shard) => ({
      shard: shard.name,
      drains: draining.includes(shard.name),
      accounts: await accountsOn(shard),
    }));
    const moves = planMoves(loads);
    if (flags.apply)
      await applyMoves(moves, mover.onStep, (move, onStep) =>
        moveCompanies({ ...mover, onStep }, move.companyId, move.to),
      );
    const shown = moves.map(({ companyId, from, to }) => ({ company: companyId, from, to }));
    if (flags.json) return `${JSON.stringify({ moves: shown, applied: flags.apply ?? false })}\n`;
    if (moves.length === 0) return 'Every shard has about as many companies: there is nothing to move.\n';
    const lines = shown.map(({ company, from, to }) => `  ${company}  ${from} -> ${to}\n`);
    return `${flags.apply ? 'Moved' : 'Would move'} these companies, each with the other company of its account:\n${lines.join('')}`;
  });
}
