const usualReceiver = 'localhost:3000/webhooks';

/** The command that forwards the events of a sandbox of this installation to a receiver on the caller's machine. */
export function listenCommand(baseUrl: string, receiver: string): string {
  const address = receiver.trim().replace(/^https?:\/\//i, '');
  // The caller pastes the command into a shell.
  const isPlain = /^[\w.[\]-]+(:\d+)?(\/[\w.~/-]*)?$/.test(address);
  return `svc listen --base-url ${baseUrl} --forward-to ${isPlain ? address : usualReceiver}`;
}
