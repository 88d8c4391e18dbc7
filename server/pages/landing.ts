import type { FastifyReply } from 'fastify';
import { escaped } from '../platform/html.ts';
import type { Brand } from './brand.ts';
import { brandLink, docsFrame, docsPolicy, htmlType } from './docs/layout.ts';

/** What a visitor sees at the address of the service: what it does, and the ways in. */

export interface Landing {
  readonly brand: Brand;
  readonly signUpOpen: boolean;
  /** The payment link of the demo company, if there is one. */
  readonly demoCheckout: () => string | undefined;
}

const features = [
  [
    'Links and checkout pages',
    'Send a payment link, print its QR code, or lead customers from your site to a page that takes the payment.',
  ],
  ['Subscriptions', 'Plans, renewals, retries of declined cards, and a page where customers manage what they pay for.'],
  ['One API', 'Orders, refunds, disputes and webhooks, with a sandbox in which no money moves.'],
] as const;

export function landingPage({ brand, signUpOpen, demoCheckout }: Landing): (reply: FastifyReply) => FastifyReply {
  return (reply) =>
    reply
      .header('Content-Type', htmlType)
      .header('Content-Security-Policy', docsPolicy)
      .header('Referrer-Policy', 'same-origin')
      .header('Cross-Origin-Opener-Policy', 'same-origin')
      .header('Cache-Control', 'no-cache')
      .send(pageOf(brand, signUpOpen, demoCheckout()));
}

function pageOf({ name }: Brand, signUpOpen: boolean, checkout: string | undefined): string {
  const ways = [
    ['/docs', 'Guides', 'Take your first payment in ten minutes.'],
    ['/docs/api/', 'API reference', 'Every call, with samples that you can run.'],
    ...(checkout ? [[checkout, 'Demo checkout', 'Pay with a test card, as a customer does.'] as const] : []),
  ] as const;
  const signUp = signUpOpen ? '<a class="action plain" href="/sign-up">Create account</a>' : '';
  return docsFrame({
    brandName: name,
    title: 'Payments on your own server',
    bodyClass: 'landing',
    links: `${brandLink(name, '/')}
<nav class="sites" aria-label="Sites"><a href="/docs">Guides</a><a href="/docs/api/">API reference</a><a href="/login">Sign in</a></nav>
<button class="theme" type="button" hidden>Dark</button>`,
    body: `<main id="content" tabindex="-1">
<h1>Take payments on your own server</h1>
<p class="lead">${escaped(name)} charges cards, renews subscriptions and keeps the books of your sales.</p>
<p class="actions"><a class="action" href="/login">Sign in</a>${signUp}</p>
<ul class="features">${features.map(([title, text]) => `<li><h2>${title}</h2><p>${text}</p></li>`).join('')}</ul>
<ul class="cards">${ways.map(([address, title, text]) => `<li><a href="${escaped(address)}"><b>${title}</b><span>${text}</span></a></li>`).join('')}</ul>
</main>`,
  });
}
