import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Command, type Options, parseCommandLine } from '../scripts/command-line.ts';

const command = {
  name: 'npm run chaos',
  summary: 'Kills processes while clients pay.',
  options: {
    minutes: { type: 'number', default: 5, describe: 'How long clients pay.' },
    seed: { type: 'number', describe: 'Repeats a run.' },
    processor: { type: 'text', oneOf: ['stripe', 'nmi'], describe: 'The processor.' },
    freeze: { type: 'flag', describe: 'Stops processes too.' },
  },
} as const;
const read = (...args: string[]): unknown => parseCommandLine(command, args);
const textOf = (args: string[], of: Command<Options> = command): string => {
  const line = parseCommandLine(of, args);
  assert.equal(line.kind, 'wrong');
  return line.kind === 'wrong' ? line.text : '';
};

describe('the options of a developer’s command', () => {
  it('have their defaults', () => {
    const values = { minutes: 5, seed: undefined, processor: undefined, freeze: false };
    assert.deepEqual(read(), { kind: 'read', values, positionals: [] });
  });

  it('are read', () => {
    const values = { minutes: 0.5, seed: 7, processor: 'nmi', freeze: true };
    const line = read('--minutes', '0.5', '--seed=7', '--processor', 'nmi', '--freeze');
    assert.deepEqual(line, { kind: 'read', values, positionals: [] });
  });

  it('are listed by --help', () => {
    const line = parseCommandLine(command, ['--help', '--seed', '7']);
    assert.equal(line.kind, 'help');
    assert.match(line.kind === 'help' ? line.text : '', /--minutes N +How long clients pay\. Default: 5\./);
  });

  const wrong: [args: string[], message: string][] = [
    [['--minuts', '3'], "Unknown option '--minuts'."],
    [['--minutes', 'x'], '--minutes must be a number that is not negative.'],
    [['--minutes', ''], '--minutes must be a number that is not negative.'],
    [['--minutes=-1'], '--minutes must be a number that is not negative.'],
    [['--minutes'], "Option '--minutes <value>' argument missing."],
    [['--freeze=yes'], "Option '--freeze' does not take an argument."],
    [['--processor', 'square'], '--processor must be one of stripe, nmi.'],
    [['orders'], '"orders" is not known here.'],
  ];
  for (const [args, message] of wrong) {
    it(`explain ${args.join(' ')}, and list what is right`, () => {
      assert.match(textOf(args), /--minutes N/);
      assert.equal(textOf(args).split('\n')[0], message);
    });
  }

  it('may be followed by names from a list', () => {
    const named = { ...command, arguments: { name: 'WORKLOAD…', oneOf: ['orders'] } };
    const line = parseCommandLine(named, ['orders']);
    assert.deepEqual(line.kind === 'read' && line.positionals, ['orders']);
    assert.match(textOf(['order'], named), /^"order" is not known here\./);
  });
});
