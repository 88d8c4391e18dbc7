import { parseArgs } from 'node:util';
import { processorKinds } from '../../server/vault/processors/kinds.ts';
import { runChaos } from './chaos.ts';
import { describeReport } from './report.ts';

/** `npm run chaos`: prints what happened, and exits with 1 if a guarantee was broken. */

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    clients: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    faults: { type: 'string', default: '0.05' },
    freeze: { type: 'boolean', default: false },
    processor: { type: 'string', default: 'acquirer' },
  },
});

const processors = values.processor.split(',').map((given) => {
  const kind = processorKinds.find((one) => one.kind === given)?.kind;
  if (kind) return kind;
  process.stderr.write(`--processor must be one of ${processorKinds.map((one) => one.kind).join(', ')}\n`);
  return process.exit(2);
});

const report = await runChaos({
  processors,
  seconds: Number(values.minutes) * 60,
  clients: Number(values.clients),
  seed: Number(values.seed),
  faultRate: Number(values.faults),
  thinkMs: 200,
  killEveryMs: [1_500, 4_500],
  freeze: values.freeze,
  progress: (line) => process.stderr.write(`${line}\n`),
});
process.stdout.write(describeReport(report));
process.exit(report.violations.length === 0 ? 0 : 1);
