import { useRef } from 'react';
import { listenCommand } from '../../../../server/features/webhooks/listen-command.ts';
import { call } from '../../api.ts';
import { Code } from '../../components/json-view.tsx';
import { useSignedIn } from '../../session.ts';
import { webhooks } from '../../texts/webhooks.ts';

const placeholder = 'svc_test_sk_…';

/**
 * The commands that show the events of a sandbox on the machine of the reader, and send them to a receiver there. They are copied
 * with a key, so they run as they are.
 */
export function LocalCommands({ receiver }: { readonly receiver?: string }) {
  const { origin } = location;
  const listen = receiver === undefined ? `svc listen --base-url ${origin}` : listenCommand(origin, receiver);
  const text = `curl -fsSO ${origin}/sdk/svc.mjs\nSVC_KEY=${placeholder} node ${listen.replace('svc', 'svc.mjs')}`;
  const isSandbox = useSignedIn().company.mode === 'sandbox';
  // Only in the memory of this page, for an hour.
  const known = useRef<string>(undefined);
  async function filled(): Promise<string> {
    known.current ??= (await call<{ key: string }>('POST', '/dashboard/api_keys/trial')).key;
    return text.replace(placeholder, known.current);
  }
  return isSandbox ? (
    <Code label={webhooks.local.commands} text={text} copied={filled} />
  ) : (
    <Code label={webhooks.local.commandsWithoutKey} text={text} />
  );
}
