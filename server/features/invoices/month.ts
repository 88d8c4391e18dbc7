import type { Words } from '../../customer-texts/words.ts';
import { csvOf, type CsvColumn } from '../../platform/csv.ts';
import { decimalText } from '../../platform/currencies.ts';
import { hourMs } from '../../platform/durations.ts';
import { idTimeMs } from '../../platform/ids.ts';
import type { ZipFile } from '../../platform/zip.ts';
import type { RequestContext } from '../../request-context.ts';
import type { ReceiptDocument } from '../receipts/service.ts';
import { logoOfProfile } from '../profile/service.ts';
import { amountsOf, fileNameOf, issuedOn, wordsOf } from './document.ts';
import { printableOf } from './printable.ts';
import { countInvoices, type InvoiceRow, listInvoices } from './queries.ts';

/** The documents of a month as files: each as PDF, their amounts by rate as CSV, and the sums of the month. */

type OfCompany = Pick<RequestContext, 'db' | 'company'>;

/** No place on Earth is further from UTC. */
const zoneMs = 14 * hourMs;
const rowsAtOnce = 100;

/** Times between which all documents of the month are; those of the last and the next month are between them too. */
function around(month: string): { readonly 'created_at[gte]': number; readonly 'created_at[lt]': number } {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return {
    'created_at[gte]': Date.UTC(year, number - 1) - zoneMs,
    'created_at[lt]': Date.UTC(year, number) + zoneMs,
  };
}

/** About as many as the month has, but at most one more than `max`. */
export const countAround = ({ db, company }: OfCompany, month: string, max: number): Promise<number> =>
  countInvoices(db, company.id, around(month), max + 1);

async function* documentsOf({ db, company }: OfCompany, month: string): AsyncGenerator<InvoiceRow> {
  const sort = { field: 'created_at', descending: false };
  let after: string | undefined;
  for (;;) {
    const cursor = after === undefined ? null : ({ id: after, parameter: 'starting_after' } as const);
    const { items, hasMore } = await listInvoices(db, company.id, around(month), { limit: rowsAtOnce, sort, cursor });
    yield* items.filter((row) => issuedOn(row).startsWith(month));
    after = items.at(-1)?.id;
    if (!hasMore || after === undefined) return;
  }
}

/** What a document has at one rate. A credit note has negative amounts, so that the sum of all is that of the month. */
interface Line {
  readonly row: InvoiceRow;
  readonly tax: { readonly name: string; readonly percentage: number } | null;
  readonly gross: number;
  readonly net: number | null;
  readonly included: number | null;
}

function linesOf(row: InvoiceRow, words: Words): Line[] {
  const { amount, taxes } = amountsOf(row, words);
  const sign = row.kind === 'credit_note' ? -1 : 1;
  if (!taxes) return [{ row, tax: null, gross: sign * amount, net: null, included: null }];
  return taxes.map(({ name, percentage, gross_amount, net_amount, tax_amount }) => ({
    row,
    tax: { name, percentage },
    gross: sign * gross_amount,
    net: sign * net_amount,
    included: sign * tax_amount,
  }));
}

const money = (amount: number | null, currency: string): string | null =>
  amount === null ? null : decimalText(amount, currency);

type Sums = Pick<Line, 'tax' | 'gross' | 'net' | 'included'> & { readonly currency: string };

const sumColumns: readonly CsvColumn<Sums>[] = [
  { header: 'currency', value: ({ currency }) => currency },
  { header: 'tax_name', value: ({ tax }) => tax?.name },
  { header: 'tax_percentage', value: ({ tax }) => tax?.percentage },
  { header: 'gross', value: ({ gross, currency }) => money(gross, currency) },
  { header: 'net', value: ({ net, currency }) => money(net, currency) },
  { header: 'tax', value: ({ included, currency }) => money(included, currency) },
];

const columns: readonly CsvColumn<Line>[] = [
  { header: 'number', value: ({ row }) => row.full_number },
  { header: 'kind', value: ({ row }) => row.kind },
  { header: 'cause', value: ({ row }) => row.cause },
  { header: 'issued_on', value: ({ row }) => issuedOn(row) },
  { header: 'order_number', value: ({ row }) => row.content.order_number },
  { header: 'corrects', value: ({ row }) => row.corrects?.full_number },
];

const customerColumns: readonly CsvColumn<Line>[] = [
  { header: 'customer_name', value: ({ row }) => row.content.buyer.name },
  { header: 'customer_company', value: ({ row }) => row.content.buyer.company },
  { header: 'customer_email', value: ({ row }) => row.content.buyer.email },
  { header: 'customer_country', value: ({ row }) => row.content.buyer.address?.country },
];

const amountColumns: readonly CsvColumn<Line>[] = sumColumns.map(({ header, value }) => ({
  header,
  value: (line) => value({ ...line, currency: line.row.currency }),
}));

function totalsOf(lines: readonly Line[]): Sums[] {
  const groups = Map.groupBy(lines, ({ row, tax }) => JSON.stringify([row.currency, tax]));
  const sum = (ofRate: readonly Line[], of: (line: Line) => number | null): number | null =>
    ofRate.reduce<number | null>((total, line) => {
      const part = of(line);
      return total === null || part === null ? null : total + part;
    }, 0);
  return [...groups.values()].flatMap((ofRate) => {
    const [first] = ofRate;
    if (!first) return [];
    const { row, tax } = first;
    const gross = ofRate.reduce((total, line) => total + line.gross, 0);
    const [net, included] = [sum(ofRate, (line) => line.net), sum(ofRate, (line) => line.included)];
    return [{ currency: row.currency, tax, gross, net, included }];
  });
}

/** `print` makes a PDF. The tables come last, when all documents are known. */
export async function* filesOfMonth(
  context: OfCompany,
  month: string,
  { isBuyerShown }: { readonly isBuyerShown: boolean },
  print: (document: ReceiptDocument) => Promise<Buffer>,
): AsyncGenerator<ZipFile> {
  const logo = await logoOfProfile(context.db, context.company.id);
  const lines: Line[] = [];
  const names = new Set<string>();
  let atMs = Date.UTC(2026, 0);
  for await (const row of documentsOf(context, month)) {
    atMs = idTimeMs(row.id);
    // Two series can differ in a sign that a file name cannot have.
    const name = fileNameOf(row);
    const unique = names.has(name) ? `${name}-${row.id}` : name;
    names.add(unique);
    const words = await wordsOf(row);
    lines.push(...linesOf(row, words));
    const content = await print(printableOf(row, { isBuyerShown, logo, words }));
    yield { name: `${unique}.pdf`, content, atMs };
  }
  const shown = [...columns, ...(isBuyerShown ? customerColumns : []), ...amountColumns];
  yield { name: `invoices-${month}.csv`, content: Buffer.from(csvOf(lines, shown)), atMs };
  yield { name: `totals-${month}.csv`, content: Buffer.from(csvOf(totalsOf(lines), sumColumns)), atMs };
}
