import { defineRoute, type Route } from '../../http/route.ts';
import { invoiceSettings, invoiceSettingsUpdate } from './schemas.ts';
import { changeInvoiceSettings, getInvoiceSettings, lockedInvoiceSettings } from './settings.ts';

const common = {
  tag: 'Company',
  resource: 'company',
  path: '/dashboard/invoice_settings',
  success: { status: 200, schema: invoiceSettings, shape: 'resource' },
  errors: [],
} as const;

/** Used only by the dashboard. */
export function invoiceSettingRoutes(): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'GET',
      operationId: 'getInvoiceSettings',
      summary: 'Retrieve how the company numbers its invoices',
      permission: 'company:read',
      category: 'read',
      idempotency: 'none',
      version: invoiceSettingsUpdate,
      handle: ({ context }) => getInvoiceSettings(context),
    }),
    defineRoute({
      ...common,
      method: 'PATCH',
      operationId: 'updateInvoiceSettings',
      summary: 'Update how the company numbers its invoices',
      permission: 'company:write',
      category: 'write',
      idempotency: 'optional',
      body: invoiceSettingsUpdate,
      current: ({ context }) => lockedInvoiceSettings(context),
      handle: ({ context, body }) => changeInvoiceSettings(context, body),
    }),
  ];
}
