import { common } from '../texts/common.ts';
import { Code } from './json-view.tsx';

/** Shows the same action as an API request. */
export function Curl({
  method = 'POST',
  path,
  body,
  keyed = false,
}: {
  method?: string;
  path: string;
  body?: unknown;
  keyed?: boolean;
}) {
  const lines = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${location.origin}${path}`,
    `-H "Authorization: Bearer $SVC_KEY"`,
    ...(keyed ? [`-H "X-SVC-Idempotency-Key: $(uuidgen)"`] : []),
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`, `-d '${JSON.stringify(body)}'`]),
  ];
  return <Code label={common.withCurl} text={lines.join(' \\\n  ')} />;
}
