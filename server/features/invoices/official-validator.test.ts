import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { generatedInvoices } from '../../../tests/support/generated-invoices.ts';
import { wordsFor } from '../../customer-texts/words.ts';
import { Fonts } from '../../platform/typesetting/fonts.ts';
import { renderReceipt } from '../receipts/pdf.ts';
import { invoiceDocument } from './document.ts';
import { xmlOfInvoice } from './e-invoice.ts';

/**
 * The official Schematron and schema of EN 16931 and Factur-X, and veraPDF for PDF/A-3, on generated documents:
 * `SVC_EINVOICE_VALIDATOR=Mustang-CLI.jar npm test server/features/invoices/official-validator.test.ts`
 */

const jar = process.env.SVC_EINVOICE_VALIDATOR;
const documentsMin = 200;
const everyNthAsPdf = 20;
const startSeconds = 1800;

test('the official rules find no fault in generated e-invoices', {
  skip: jar === undefined && 'SVC_EINVOICE_VALIDATOR names no validator',
  timeout: startSeconds * 1000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-e-invoices-'));
  const words = await wordsFor('en');
  const fonts = new Fonts(undefined);
  const written: string[] = [];
  for (const row of generatedInvoices(documentsMin + 20)) {
    const eInvoice = xmlOfInvoice(row, words);
    if (eInvoice === undefined) continue;
    const name = row.full_number.replaceAll('/', '-');
    await writeFile(join(folder, `${name}.xml`), eInvoice);
    written.push(`${name}.xml`);
    if (written.length % everyNthAsPdf > 0) continue;
    const shown = { isBuyerShown: true, logo: undefined, words, eInvoice };
    await writeFile(join(folder, `${name}.pdf`), await renderReceipt(invoiceDocument(row, shown), fonts));
    written.push(`${name}.pdf`);
  }
  assert.ok(written.length >= documentsMin);
  const parameters = ['--disable-file-logging', '--action', 'validateExpectValid', '--no-notices', '-d', folder];
  const { stdout, stderr } = await promisify(execFile)('java', ['-jar', jar ?? '', ...parameters], {
    maxBuffer: 1024 ** 3,
  });
  const found = [...`${stdout}\n${stderr}`.matchAll(/Testing file \d+: +(\w+) \(\S*?([\w-]+\.(?:xml|pdf))\)/g)];
  const valid = found.filter(([, verdict]) => verdict === 'valid').map(([, , name = '']) => name);
  assert.deepEqual(valid.toSorted(), written.toSorted());
  await rm(folder, { recursive: true });
});
