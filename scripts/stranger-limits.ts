import { limits } from '../server/limits.ts';

const inSeconds = ({ count, windowSeconds }: { readonly count: number; readonly windowSeconds: number }): string =>
  `${count.toLocaleString('en')} in ${windowSeconds} seconds`;

/** What callers without a secret can make the service hold. */
export function strangerRows(): [string, string][] {
  const { strangers } = limits;
  const mebibytes = (bytes: number): string => `${bytes / 1024 / 1024} MiB`;
  return [
    [
      'Requests without a secret key or session',
      `headers and body must arrive within ${strangers.seconds} seconds each, or the response is 408. Incomplete ones: ${mebibytes(strangers.bytesOfAddress)} per IP address, ` +
        `then 429; ${mebibytes(strangers.bytes)} in all for each process, then 503. The oldest one ends first. ${strangers.connectionsOfAddress.toLocaleString('en')} open connections per IP address, unless it is a trusted proxy`,
    ],
    [
      'Notices of processors',
      `${limits.noticeBytes / 1024} KiB; ${inSeconds(limits.noticesOfAddress)} per IP address, ${inSeconds(limits.noticesOfConnection)} per connection. The response is 429 with Retry-After, and the processor sends the notice again`,
    ],
  ];
}
