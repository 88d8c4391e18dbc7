import { createdAtFilters, listSchema } from '../../http/lists.ts';
import { choicesParameter, monthParameter, textParameter, uuidParameter } from '../../http/query-parameters.ts';
import { defineList, defineRoute, type Route } from '../../http/route.ts';
import { limits } from '../../limits.ts';
import { correctInvoice } from './corrections.ts';
import {
  invoice,
  invoiceCorrection,
  invoiceCorrectionCreate,
  invoiceKind,
  invoiceMonth,
  invoicePdf,
  invoiceXml,
} from './schemas.ts';
import {
  getInvoice,
  getInvoiceMonth,
  getInvoicePdf,
  getInvoices,
  getInvoiceXml,
  type InvoiceLinks,
} from './service.ts';

export { invoiceSettingRoutes } from './dashboard-routes.ts';

const common = { tag: 'Invoices', resource: 'invoice', permission: 'invoices:read' } as const;
const fields = { name: 'invoices', schema: invoice };

export function invoiceRoutes(links: InvoiceLinks): Route[] {
  return [
    defineList({
      ...common,
      path: '/v1/invoices',
      operationId: 'listInvoices',
      summary: 'List invoices and credit notes',
      description:
        'A document appears here when it has its number, a few seconds after the payment or the refund. The customer is shown only if the ' +
        'caller has `customers:read`.',
      fields,
      sorts: [],
      filters: {
        q: textParameter(
          limits.searchLength,
          'Only documents with this number, or of an order with this number or its first four characters or more.',
        ),
        kind: choicesParameter(invoiceKind, 'kinds'),
        customer_id: uuidParameter('Filters by customer.'),
        order_id: uuidParameter('Filters by order.'),
        ...createdAtFilters,
      },
      success: { status: 200, schema: listSchema('InvoiceList', invoice, '/v1/invoices'), shape: 'list' },
      errors: [],
      handle: ({ context, query, page }) => getInvoices(context, query, page),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: '/v1/invoices/month',
      operationId: 'getInvoiceMonth',
      summary: 'Retrieve a link to the invoices of a month',
      description:
        'Returns a link to a ZIP file: each document of the month as a PDF, a CSV file with net amount and tax by rate, and one with their ' +
        'sums. Credit notes have negative amounts. It shows the customers only if the caller has `customers:read`.',
      category: 'read',
      idempotency: 'none',
      parameters: {
        month: monthParameter(
          'The month of the documents, by the time zone of your company. Default: the present one.',
        ),
      },
      success: { status: 200, schema: invoiceMonth, shape: 'resource' },
      errors: [],
      handle: ({ context, query }) => getInvoiceMonth(context, links, query.month),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: '/v1/invoices/:id',
      operationId: 'getInvoice',
      summary: 'Retrieve an invoice or a credit note',
      category: 'read',
      idempotency: 'none',
      fields,
      success: { status: 200, schema: invoice, shape: 'resource' },
      errors: [],
      handle: ({ context, params }) => getInvoice(context, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: '/v1/invoices/:id/pdf',
      operationId: 'getInvoicePdf',
      summary: 'Retrieve a link to the PDF of an invoice',
      description:
        'Returns a link to the document as a PDF. It shows the customer only if the caller has `customers:read`. Then it also carries the ' +
        'XML of `GET /v1/invoices/{id}/xml`, if there is one: it is a PDF/A-3 by the rules of Factur-X and ZUGFeRD.',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: invoicePdf, shape: 'resource' },
      errors: [],
      handle: ({ context, params }) => getInvoicePdf(context, links, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: '/v1/invoices/:id/xml',
      operationId: 'getInvoiceXml',
      summary: 'Retrieve a link to the e-invoice',
      description:
        'Returns a link to the document as XML by EN 16931 (syntax CII). Requires `customers:read` too. If data is missing that the standard ' +
        'wants, for example your tax ID, the error names it.',
      category: 'read',
      idempotency: 'none',
      success: { status: 200, schema: invoiceXml, shape: 'resource' },
      errors: ['invalid_state_transition'],
      handle: ({ context, params }) => getInvoiceXml(context, links, params.id ?? ''),
    }),
    defineRoute({
      ...common,
      permission: 'invoices:write',
      method: 'POST',
      path: '/v1/invoices/:id/corrections',
      operationId: 'createInvoiceCorrection',
      summary: 'Correct the buyer of an invoice',
      description:
        'Writes a credit note of the whole invoice, and a new invoice with the corrected buyer and the same lines, amounts and payment. ' +
        'No money moves. Both get their numbers a few seconds later. An invoice can be corrected once, then the new one; an invoice with ' +
        'credit notes for refunds cannot be corrected.',
      category: 'write',
      idempotency: 'optional',
      audit: 'with_change',
      body: invoiceCorrectionCreate,
      bodyExample: { reason: 'The company was missing', company: 'Hopper GmbH', tax_id: 'DE123456789' },
      success: { status: 201, schema: invoiceCorrection, shape: 'resource' },
      errors: ['invalid_request'],
      handle: ({ context, params, body }) => correctInvoice(context, params.id ?? '', body),
    }),
  ];
}
