import type { FastifyInstance } from 'fastify';
import { ApiError } from '../errors.ts';
import type { Clock } from '../platform/clock.ts';
import { dayMs } from '../platform/durations.ts';

// RFC 9116 recommends less than a year. The file is written for each reader, so it never expires while the service runs.
const validDays = 90;

/** `/.well-known/security.txt` (RFC 9116): where to report a vulnerability of this installation. */
export function mountSecurityTxt(
  app: FastifyInstance,
  contact: string | undefined,
  baseUrl: string,
  clock: Clock,
): void {
  const path = '/.well-known/security.txt';
  app.get(path, (_request, reply) => {
    if (!contact) throw new ApiError('resource_not_found', 'This service has no contact for security reports.');
    const expires = new Date(Math.floor(clock.nowMs() / dayMs + validDays) * dayMs).toISOString();
    const fields = { Contact: contact, Expires: expires, 'Preferred-Languages': 'en', Canonical: `${baseUrl}${path}` };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\n`);
    return reply
      .header('Content-Type', 'text/plain; charset=utf-8')
      .header('Cache-Control', 'public, max-age=3600')
      .send(lines.join(''));
  });
}
