import { definePageRoute, type PageRoute } from '../../http/page-caller.ts';
import type { RequestContext } from '../../request-context.ts';
import { merchantOf } from '../checkout-sessions/service.ts';
import { profileOf } from '../profile/service.ts';
import { declarationInput, declarationKinds } from './schemas.ts';
import { declare, type DeclarationDependencies } from './service.ts';

/** The pages on which customers cancel and withdraw. Their address names the company, so everyone can open them. */

type DeclarationPage = Record<string, never>;

/** Undefined where the merchant has no such page. */
export async function declarationPage({ db, company }: RequestContext): Promise<DeclarationPage | undefined> {
  const { customer_page } = await profileOf(db, company);
  return customer_page.accept_declarations ? {} : undefined;
}

export const declarationPageRoutes = (dependencies: DeclarationDependencies): PageRoute<DeclarationPage>[] =>
  declarationKinds.flatMap((kind) => [
    definePageRoute<DeclarationPage>({
      method: 'GET',
      path: `/${kind}/:token/company`,
      category: 'read',
      handle: async ({ context }) => ({
        livemode: context.company.mode === 'live',
        rehearsal: context.company.mode === 'rehearsal',
        merchant: await merchantOf(context),
      }),
    }),
    definePageRoute({
      method: 'POST',
      path: `/${kind}/:token/declarations`,
      category: 'write',
      status: 201,
      body: declarationInput,
      handle: ({ context, body, address }) => declare(dependencies, context, kind, body, address),
    }),
  ]);
