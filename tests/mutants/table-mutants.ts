import { inLine, keyOf, type Mutant, type Node, nodesIn, readSource, type Source, textOf, valueOf } from './mutant.ts';

/** The rows of the tables that decide: the next step of an operation, the moves of its state, what a notice means. */

const orders = 'server/features/orders';

/** A step that a reader could take for the right one. */
const confused: Readonly<Record<string, string>> = {
  send: 'wait_for_lookup',
  send_at_next: 'record',
  send_as_next: 'record',
  extend: 'record',
  ask: 'send',
  wait_for_lookup: 'record',
  wait_as_interrupted: 'wait_for_lookup',
  wait_for_service: 'wait_for_request',
  wait_for_request: 'record',
  wait_for_credentials: 'wait_for_connection',
  wait_for_connection: 'wait_for_credentials',
  wait_for_settlement: 'record',
  wait_for_comparison: 'wait_for_lookup',
  record: 'wait_for_lookup',
  record_and_hand_over: 'record',
  record_as_other: 'record',
  discard: 'record',
};

/** The same for what a notice leads to. */
const otherMeaning: Readonly<Record<string, string>> = {
  notDecided: 'notMadeHere',
  notMadeHere: 'notDecided',
  ofAnother: 'notDecided',
};

export function tableMutants(): Mutant[] {
  return [
    ...stepMutants(readSource(`${orders}/operations/next-step.ts`)),
    ...moveMutants(readSource(`${orders}/operations/operation-moves.ts`)),
    ...meaningMutants(readSource(`${orders}/recovery/apply-notice.ts`)),
    ...disputeMutants(readSource(`${orders}/recovery/notice-effects.ts`)),
  ];
}

const propertiesOf = ({ properties }: Node): Node[] => properties as Node[];
const valueNode = ({ value }: Node): Node => value as Node;

function stepMutants(source: Source): Mutant[] {
  const rows = nodesIn(valueOf(source, 'rows')).filter(
    (node) => node.type === 'ObjectExpression' && propertiesOf(node).some((one) => keyOf(one) === 'step'),
  );
  return rows.flatMap((row) => {
    const rule = inLine(textOf(source, row)).replaceAll(/^\{ | \}$|,(?= \}$)/g, '');
    const steps = propertiesOf(row).filter((one) => keyOf(one) === 'step');
    const named = steps.flatMap((one) => nodesIn(valueNode(one))).filter(({ value }) => confused[String(value)]);
    return [
      withoutRow(source, row, 'step', rule),
      ...named.map(({ value, start, end }): Mutant => {
        const other = confused[String(value)] ?? '';
        const change = { file: source.file, start, end, text: `'${other}'` };
        return { place: source.file, rule: `${rule} (${String(value)} → ${other})`, kind: 'step', change };
      }),
    ];
  });
}

function withoutRow({ file, text }: Source, { start, end }: Node, kind: Mutant['kind'], rule: string): Mutant {
  return { place: file, rule, kind, change: { file, start, end: text[end] === ',' ? end + 1 : end, text: '' } };
}

function moveMutants(source: Source): Mutant[] {
  const moves = valueOf(source, 'operationMoves').elements as Node[];
  return moves.map((move) => withoutRow(source, move, 'move', inLine(textOf(source, move))));
}

function meaningMutants(source: Source): Mutant[] {
  return propertiesOf(valueOf(source, 'meanings')).flatMap((kind) =>
    propertiesOf(valueNode(kind)).map((property): Mutant => {
      const now = textOf(source, valueNode(property));
      const other = otherMeaning[now] ?? 'ofAnother';
      const change = {
        file: source.file,
        start: property.start,
        end: property.end,
        text: `${keyOf(property)}: ${other}`,
      };
      const isNamed = now in otherMeaning;
      const rule = `${keyOf(kind)}.${keyOf(property)} (${isNamed ? `${now} → ` : ''}${other})`;
      return { place: source.file, rule, kind: 'notice', change };
    }),
  );
}

function disputeMutants(source: Source): Mutant[] {
  return propertiesOf(valueOf(source, 'triggers')).map((property): Mutant => {
    const { start, end } = valueNode(property);
    const now = source.text.slice(start, end);
    const other = now === '[]' ? `['chargeback_raised']` : '[]';
    const rule = `${keyOf(property)}: ${now} (${other})`;
    return { place: source.file, rule, kind: 'notice', change: { file: source.file, start, end, text: other } };
  });
}
