import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { amountText } from '../customer-texts/formats.ts';
import { defaultLocale } from '../customer-texts/languages.ts';
import { profileOf } from '../features/profile/service.ts';
import { type PageDependencies, unknownPage, visitPage } from '../http/page-caller.ts';
import { escaped } from '../platform/html.ts';
import type { RequestContext } from '../request-context.ts';
import type { BankAnswer, BankPage } from '../vault/processors/sandbox/challenge-queries.ts';
import type { Vault } from '../vault/vault.ts';
import { sendMessage } from './closed-page.ts';

/**
 * The bank of the sandbox, which asks the customer to confirm a payment. It stands for a page of the bank of a real card, so it
 * shows nothing of the shop but its name, and needs no script. Answers are links: a page of the sandbox moves no money.
 */

const texts = {
  title: 'Bank of the sandbox',
  asks: '{merchant} wants to take {amount} from your card that ends in {last4}. Do you confirm this payment?',
  asksToSave: '{merchant} wants to save your card that ends in {last4}, to charge it later. Do you confirm this?',
  silent: 'This bank never decides. Close this page, or go back.',
  answered: 'You have answered already. Nothing else happens here.',
  confirm: 'Confirm',
  refuse: 'Refuse',
  back: 'Go back to {merchant}',
} as const;

interface Dependencies extends Omit<PageDependencies<BankPage>, 'subjectOf'> {
  readonly vault: Pick<Vault, 'sandboxBank'>;
  readonly baseUrl: string;
}

export function mountSandboxBank(app: FastifyInstance, { vault, baseUrl, ...dependencies }: Dependencies): void {
  const options = { config: { rateLimit: 'own' } } as const;
  const visit = (request: FastifyRequest, reply: FastifyReply, answer?: BankAnswer) =>
    visitPage('read', request, reply, {
      ...dependencies,
      subjectOf: async ({ company }: RequestContext, token) =>
        company.mode === 'sandbox'
          ? vault.sandboxBank({ companyId: company.id, token, ...(answer && { answer }) })
          : undefined,
    });
  app.get('/sandbox/bank/:token', options, async (request, reply) => {
    const back = wayBack(request, baseUrl);
    const { context, subject } = await visit(request, reply);
    const { token } = request.params as { token: string };
    return sendMessage(reply, defaultLocale, await partsOf(context, subject, { token, back }));
  });
  for (const answer of ['confirm', 'refuse'] as const) {
    app.get(`/sandbox/bank/:token/${answer}`, options, async (request, reply) => {
      const back = wayBack(request, baseUrl);
      const { subject } = await visit(request, reply, answer);
      if (subject.behaviour === 'abandoned') throw unknownPage();
      return reply.header('Referrer-Policy', 'no-referrer').redirect(returnUrl(back), 303);
    });
  }
}

/** Only to pages of this service, so that no link leads elsewhere in its name. */
function wayBack({ query }: FastifyRequest, baseUrl: string): string {
  const { return: back } = query as { return?: unknown };
  if (typeof back !== 'string' || !back.startsWith(`${baseUrl}/`) || !URL.canParse(back)) throw unknownPage();
  return back;
}

/** As a bank, it adds something of its own. It says nothing that the shop could rely on. */
function returnUrl(back: string): string {
  const url = new URL(back);
  url.searchParams.set('sandbox_bank', 'done');
  return url.href;
}

async function partsOf(
  context: RequestContext,
  page: BankPage,
  { token, back }: { readonly token: string; readonly back: string },
): Promise<Readonly<Record<string, string>>> {
  const { display_name: merchant } = await profileOf(context.db, context.company);
  const words = { merchant, amount: amountText(page.amount, page.currency), last4: page.last4 };
  const filled = (text: string): string =>
    escaped(text.replaceAll(/\{(\w+)\}/g, (_place, name: keyof typeof words) => words[name]));
  const isOpen = page.state === 'open';
  const asks = page.amount === 0 ? texts.asksToSave : texts.asks;
  const question = page.behaviour === 'abandoned' ? texts.silent : asks;
  const hrefOf = (answer: BankAnswer): string => escaped(`${token}/${answer}?return=${encodeURIComponent(back)}`);
  const answers = `<a id="confirm" class="pay" href="${hrefOf('confirm')}">${texts.confirm}</a>
<p class="note"><a id="refuse" href="${hrefOf('refuse')}">${texts.refuse}</a></p>`;
  const leave = `<a id="back" class="pay" href="${escaped(returnUrl(back))}">${filled(texts.back)}</a>`;
  return {
    root: '../..',
    symbol: 'lock',
    title: texts.title,
    heading: texts.title,
    text: filled(isOpen ? question : texts.answered),
    colors: '',
    merchant: '',
    actions: isOpen ? (page.behaviour === 'abandoned' ? '' : answers) : leave,
  };
}
