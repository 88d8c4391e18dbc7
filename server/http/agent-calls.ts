import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../errors.ts';
import type { Admitted } from './caller.ts';
import type { Route } from './route.ts';

/**
 * A live key with `agents:write` changes something only through `/mcp`, where a person approves it: an agent that can read its
 * key must not be able to call the API instead. `/mcp` marks the calls that a person has approved, within the process.
 */

const header = 'svc-approved-call';
const mark = randomBytes(32).toString('base64url');

export const approvedCallHeaders: Readonly<Record<string, string>> = { [header]: mark };

export const isKeyOfAgents = ({ permissions }: { readonly permissions: readonly string[] }): boolean =>
  permissions.includes('agents:write');

export function checkAgentKey(
  { company, caller }: Admitted,
  { method }: Pick<Route, 'method'>,
  { headers }: Pick<FastifyRequest, 'headers'>,
): void {
  if (caller.kind !== 'key' || company.mode === 'sandbox' || method === 'GET' || !isKeyOfAgents(caller)) return;
  if (isMark(headers[header])) return;
  throw new ApiError(
    'insufficient_permissions',
    'This API key has the permission agents:write. In live, it can change something only through /mcp, after a person has approved it. Use another key for your server.',
  );
}

function isMark(sent: string | string[] | undefined): boolean {
  const [one, other] = [Buffer.from(String(sent)), Buffer.from(mark)];
  return one.length === other.length && timingSafeEqual(one, other);
}
