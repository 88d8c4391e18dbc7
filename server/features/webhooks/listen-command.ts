const usualHost = 'localhost:3000';

/** Names and addresses of the caller's machine or network: without a dot, of a local domain, private IPv4. */
const isNear =
  /^([^.:[]+|.+\.(local|localhost|internal|test)|(127|10|192\.168|172\.(1[6-9]|2\d|3[01]))\.[\d.]+)(:\d+)?$/i;

/**
 * The command that forwards the events of a sandbox of this installation to a receiver on the caller's machine. A public
 * receiver is not there, so only its path is used.
 */
export function listenCommand(baseUrl: string, receiver: string): string {
  const [, host = '', path = ''] = /^([^/]*)(.*)$/s.exec(receiver.trim().replace(/^[a-z]+:\/\//i, '')) ?? [];
  const address = `${isNear.test(host) ? host : usualHost}${path}`;
  // The caller pastes the command into a shell.
  const isPlain = /^[\w.-]+(:\d+)?(\/[\w.~/-]*)?$/.test(address);
  return `svc listen --base-url ${baseUrl} --forward-to ${isPlain ? address : `${usualHost}/webhooks`}`;
}
