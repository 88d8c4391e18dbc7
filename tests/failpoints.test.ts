import { walk } from './failpoints/walk.ts';

walk({ kind: 'acquirer', everything: process.env.SVC_FAILPOINTS === 'all' });
