import { ask } from './api.ts';
import { UsageError } from './command-error.ts';
import type { Flags } from './options.ts';

interface ListedEndpoint {
  readonly id: string;
  readonly url: string;
}

/** `events resend EVENT`: sends an event to an endpoint again, also if it was delivered. */
export async function resendCommand([, event]: readonly string[], flags: Flags): Promise<string> {
  if (!event) throw new UsageError('The ID of the event is missing. Use events resend EVENT, for example evt_019c….');
  const endpoint = flags.endpoint ?? (await onlyEndpoint(flags));
  const path = `/v1/webhook_endpoints/${encodeURIComponent(endpoint)}/events/${encodeURIComponent(event)}/replay`;
  const delivery = await ask(flags, 'POST', path, { force: true });
  return flags.json ? `${JSON.stringify(delivery)}\n` : `The event ${event} will be sent again to ${endpoint}.\n`;
}

async function onlyEndpoint(flags: Flags): Promise<string> {
  const { data } = (await ask(flags, 'GET', '/v1/webhook_endpoints?limit=100', undefined)) as {
    data: ListedEndpoint[];
  };
  const [only, ...others] = data;
  if (!only) throw new UsageError('The company has no webhook endpoint. `svc listen` forwards events without one.');
  if (others.length === 0) return only.id;
  const all = data.map(({ id, url }) => `  ${id}  ${url}`).join('\n');
  throw new UsageError(`Choose an endpoint with --endpoint:\n${all}`);
}
