import { setTimeout as sleep } from 'node:timers/promises';
import { sharedMs } from '../../server/http/operations.ts';

/** Reads /readyz or /metrics as it is now, not as it was shared with a caller a moment ago. */
export async function readProbe(
  baseUrl: string,
  path: '/readyz' | '/metrics',
): Promise<{ status: number; text: string }> {
  await sleep(sharedMs + 50);
  const response = await fetch(baseUrl + path);
  return { status: response.status, text: await response.text() };
}
