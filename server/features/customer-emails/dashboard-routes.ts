import { listSchema } from '../../http/lists.ts';
import { choiceParameter, uuidParameter } from '../../http/query-parameters.ts';
import { defineList, defineRoute, type Route } from '../../http/route.ts';
import { mailStates } from '../mails/schemas.ts';
import { emailKinds } from '../profile/schemas.ts';
import { customerEmail, emailPreview } from './schemas.ts';
import { type EmailLinks, getCustomerEmails, getPreview } from './service.ts';

const common = { tag: 'Company', resource: 'email', errors: [] } as const;
const path = '/dashboard/customer_emails';

/** Used only by the dashboard. */
export function customerEmailRoutes(links: EmailLinks): Route[] {
  return [
    defineList({
      ...common,
      path,
      operationId: 'listCustomerEmails',
      summary: 'List emails to customers',
      permission: 'customers:read',
      sorts: [],
      filters: {
        customer_id: uuidParameter('Only emails to this customer.'),
        state: choiceParameter(mailStates, 'Only emails in this state.'),
      },
      success: { status: 200, schema: listSchema('CustomerEmailList', customerEmail, path), shape: 'list' },
      handle: ({ context, query, page }) => getCustomerEmails(context, query, page),
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: '/dashboard/customer_emails/preview/:id',
      operationId: 'previewCustomerEmail',
      summary: 'Preview an email with an order',
      permission: 'orders:read',
      category: 'read',
      idempotency: 'none',
      parameters: { kind: choiceParameter(emailKinds, 'The email.', 'order_receipt') },
      errors: ['resource_not_found'],
      success: { status: 200, schema: emailPreview, shape: 'other' },
      handle: ({ context, params, query }) =>
        getPreview(context, links, query.kind ?? 'order_receipt', params.id ?? ''),
    }),
  ];
}
