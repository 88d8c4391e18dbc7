import { kindNamed } from '../server/vault/processors/kinds.ts';
import { walk } from './failpoints/walk.ts';

/** `npm run failpoints -- --processor KIND` walks over all failpoints with another kind of processor. */
const { SVC_FAILPOINTS_PROCESSOR: wanted } = process.env;

if (wanted === undefined) {
  walk({
    kind: 'stripe',
    everything: false,
    only: ['charge.after_handle', 'charge.after_processor'],
  });
} else walk({ kind: kindNamed(wanted).kind, everything: true });
