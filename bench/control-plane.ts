import { randomUUID } from 'node:crypto';
import { findLookup } from '../server/features/api-keys/queries.ts';
import { insertMembership } from '../server/features/users/membership-queries.ts';
import { findSession, findUserByEmail, insertSession, insertUser } from '../server/features/users/queries.ts';
import { controlPlaneOn, type ControlPool, openDatabase } from '../server/platform/database.ts';
import { recordMove, switchShard } from '../server/shards/move/queries.ts';
import { findShard, insertShards } from '../server/shards/queries.ts';
import { shardForNew } from '../server/shards/placement.ts';
import { familyCpuSeconds, watchOthers } from './processes.ts';
import type { Bench, Cell, Report, Workload } from './workload.ts';

/** `npm run bench control-plane`: what the server with the directory, the keys and the users can take, with few and with many companies. */

const companyCounts = [20_000, 1_000_000];
const shards = 200;
const callers = 32;

const seed = `
  INSERT INTO company_shards (company_id, shard)
  SELECT md5('company ' || n)::uuid, 's' || n % ${shards} FROM generate_series($1::integer, $2::integer) n`;
const seedLookups = `
  INSERT INTO api_key_lookups (lookup_id, company_id, api_key_id)
  SELECT substr(md5('key ' || n), 1, 12), md5('company ' || n)::uuid, gen_random_uuid() FROM generate_series($1::integer, $2::integer) n`;

interface Sample {
  readonly companyId: string;
  readonly lookupId: string;
}

type Work = (control: ControlPool, pick: () => Sample) => Promise<unknown>;

/** As far as a sign-up uses the control plane. Its password and its companies cost more, but elsewhere. */
const signUp: Work = async (control) => {
  const [userId, email] = [randomUUID(), `${randomUUID()}@example.com`];
  await findUserByEmail(control, email);
  // Every shard responds: which one it is is decided by the control plane alone.
  const parts = Array.from({ length: shards }, (_, index) => ({ name: `s${index}`, db: answering }));
  const { name } = await shardForNew({ control, all: parts, away: new Set() });
  await control.transaction(async (transaction) => {
    await insertUser(transaction, {
      id: userId,
      email,
      email_key: email,
      email_verified_at: null,
      first_name: 'Ada',
      last_name: 'Lovelace',
      phone_number: null,
      password_hash: 'none',
    });
    const companyIds = [randomUUID(), randomUUID()];
    await insertShards(transaction, name, companyIds);
    for (const companyId of companyIds) await insertMembership(transaction, userId, companyId, randomUUID());
  });
  await openSessionOf(control, userId);
};

const tokenOf = (id: string): Buffer => Buffer.from(id.replaceAll('-', '').repeat(2).slice(0, 64), 'hex');

async function openSessionOf(control: ControlPool, userId: string): Promise<void> {
  const id = randomUUID();
  const now = new Date();
  const session = {
    id,
    user_id: userId,
    address: '127.0.0.1',
    user_agent: 'bench',
    last_seen_at: now,
    expires_at: now,
    stepped_up_at: now,
  };
  await insertSession(control, session, tokenOf(id));
}

const answering = { ping: async () => undefined } as never;

const kinds: Readonly<Record<string, Work>> = {
  'key look-ups': (control, pick) => findLookup(control, pick().lookupId),
  'directory look-ups': (control, pick) => findShard(control, pick().companyId),
  'session look-ups': (control) => findSession(control, [tokenOf(randomUUID())]),
  'sign-ups': signUp,
  moves: async (control, pick) => {
    const { companyId } = pick();
    const from = await findShard(control, companyId);
    const to = from === 's1' ? 's2' : 's1';
    await recordMove(control, [companyId], from, to);
    await switchShard(control, [companyId], from, to);
  },
};

async function run({ environment, options, note }: Bench): Promise<Report> {
  const { sql, postgresPid, connectionString } = environment;
  const control = controlPlaneOn(
    openDatabase({ connectionString, poolSize: 10, applicationName: 'bench', onError: () => undefined }),
  );
  const rows: Cell[][] = [];
  let have = 0;
  try {
    for (const count of companyCounts) {
      await sql.query('SET session_replication_role = replica');
      for (const text of [seed, seedLookups]) await sql.query(text, [have + 1, count]);
      await sql.query('RESET session_replication_role');
      await sql.query('VACUUM ANALYZE');
      have = count;
      const samples = await samplesOf(sql, count);
      const pick = (): Sample => samples[Math.floor(Math.random() * samples.length)] as Sample;
      for (const [name, work] of Object.entries(kinds)) {
        await repeat(1, () => work(control, pick));
        const others = watchOthers(postgresPid);
        const cpuBefore = [process.cpuUsage(), familyCpuSeconds(postgresPid) ?? Number.NaN] as const;
        const { done, seconds } = await repeat(options.seconds ?? 5, () => work(control, pick));
        const { user, system } = process.cpuUsage(cpuBefore[0]);
        const postgresUs = (((familyCpuSeconds(postgresPid) ?? Number.NaN) - cpuBefore[1]) * 1e6) / done;
        rows.push([
          name,
          count,
          Math.round(done / seconds),
          Math.round(postgresUs),
          Math.round((user + system) / done),
          Math.round((others() ?? 0) * 100),
        ]);
        note(`${name}, ${count} companies: ${Math.round(done / seconds)}/s`);
      }
    }
  } finally {
    await control.close();
  }
  const columns = ['', 'companies', 'a second', 'CPU µs postgres', 'CPU µs node', 'CPU % others'];
  return { tables: [{ title: `Control plane, ${callers} at once over 10 connections`, columns, rows }], targets: [] };
}

async function samplesOf(sql: Bench['environment']['sql'], count: number): Promise<Sample[]> {
  const { rows } = await sql.query<Sample>(
    `SELECT md5('company ' || n)::uuid::text AS "companyId", substr(md5('key ' || n), 1, 12) AS "lookupId"
     FROM (SELECT 1 + floor(random() * $1::integer)::integer AS n FROM generate_series(1, 20000)) numbered`,
    [count],
  );
  return rows;
}

async function repeat(forSeconds: number, work: () => Promise<unknown>): Promise<{ done: number; seconds: number }> {
  const startedMs = performance.now();
  const untilMs = startedMs + forSeconds * 1000;
  let done = 0;
  const caller = async (): Promise<void> => {
    for (; performance.now() < untilMs; done += 1) await work();
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { done, seconds: (performance.now() - startedMs) / 1000 };
}

export const workload: Workload = { module: import.meta.url, requests: {}, run };
