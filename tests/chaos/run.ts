import { readCommandLine } from '../../scripts/command-line.ts';
import { processorKinds } from '../../server/vault/processors/kinds.ts';
import { runChaos } from './chaos.ts';
import { describeReport } from './report.ts';

const kinds = processorKinds.map(({ kind }) => kind);
const { values } = readCommandLine({
  name: 'npm run chaos',
  summary:
    'Kills processes while clients pay, prints what happened, and exits with 1 if a guarantee was broken or the books differ.',
  options: {
    minutes: { type: 'number', default: 5, describe: 'How long clients pay.' },
    clients: { type: 'number', default: 50, describe: 'How many clients pay at once.' },
    seed: { type: 'number', describe: 'Repeats the random choices of a run with this seed.' },
    faults: { type: 'number', default: 0.05, describe: 'The share of requests in which the processor misbehaves.' },
    freeze: { type: 'flag', describe: 'Stops processes for a while too, instead of only killing them.' },
    pooler: { type: 'flag', describe: 'Puts PgBouncer in transaction mode between the service and PostgreSQL.' },
    processor: {
      type: 'text',
      default: 'acquirer',
      describe: `The processors, separated by commas: ${kinds.join(', ')}.`,
    },
  },
});

const processors = values.processor.split(',').map((given) => {
  const kind = kinds.find((one) => one === given);
  if (kind) return kind;
  process.stderr.write(`--processor must be one or more of ${kinds.join(', ')}, separated by commas.\n`);
  return process.exit(2);
});

const report = await runChaos({
  processors,
  seconds: values.minutes * 60,
  clients: values.clients,
  seed: values.seed ?? Date.now() % 1_000_000,
  faultRate: values.faults,
  thinkMs: 200,
  killEveryMs: [1_500, 4_500],
  freeze: values.freeze,
  pooler: values.pooler,
  progress: (line) => process.stderr.write(`${line}\n`),
});
process.stdout.write(describeReport(report));
process.exit(report.violations.length === 0 ? 0 : 1);
