import { ApiError, notFound } from '../../errors.ts';
import type { RequestContext } from '../../request-context.ts';
import type { EventType } from '../events/service.ts';
import { getInvoiceSettings, latestDocument } from '../invoices/service.ts';

type DocumentKind = 'invoice' | 'credit_note';

export const isOfDocument = (type: EventType): boolean => type === 'invoice.created' || type === 'credit_note.created';

/** Returns the document of the order that a recipe has made. */
export const documented =
  <Given extends readonly unknown[]>(
    kind: DocumentKind,
    ordered: (context: RequestContext, ...given: Given) => Promise<string>,
  ) =>
  async (context: RequestContext, ...given: Given): Promise<string> => {
    if (!(await getInvoiceSettings(context)).enabled) {
      const message = 'Invoices are off. Switch them on first, under Settings → Invoices.';
      throw new ApiError('invalid_state_transition', message, { param: 'type' });
    }
    const id = await latestDocument(context, await ordered(context, ...given), kind);
    if (id === undefined) throw notFound(kind === 'invoice' ? 'invoice' : 'credit note');
    return id;
  };
