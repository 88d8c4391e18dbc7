import { type ReactNode, useState } from 'react';
import { call } from '../../api.ts';
import { Button, TextLink } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { CopyButton, copyText } from '../../components/copy.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { useAction } from '../../components/form.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { money } from '../../format.ts';
import { useCan } from '../../session.ts';
import { confirmationAdvice, declineAdvice } from '../../../../server/customer-texts/decline-advice.ts';
import { whatNow as texts } from '../../texts/declines.ts';
import { orders } from '../../texts/orders.ts';
import type { Order, SentLink, SentRequest, Subscription, WhatNow as State } from '../../types.ts';

interface FailedProps {
  readonly order: Order;
  readonly subscription: Subscription | undefined;
}

const endedStatuses: readonly string[] = ['canceled', 'completed'];

/** Why the charge of an order failed, what that means, and what can be done. */
export function WhatNow({ order, subscription }: FailedProps) {
  const state = useGet<State>(`/dashboard/orders/${order.id}/what_now`).data;
  const confirmUrl = order.authentication_url;
  const advice = confirmUrl === null ? declineAdvice[order.failure_code ?? 'unknown'] : confirmationAdvice;
  const isPaid = state?.paid_by?.by_link ?? false;
  const canRetry = advice.retry && !isPaid && !endedStatuses.includes(subscription?.status ?? '');
  return (
    <section aria-label={texts.title} className="mb-6 rounded-[8px] border border-line bg-surface px-4 py-3">
      <p className="font-medium">
        {order.failure_reason} <span className="font-mono text-xs font-normal text-muted">{order.failure_code}</span>
      </p>
      <p className="text-muted">{advice.next}</p>
      {state && <Notices state={state} />}
      {!isPaid && (
        <div className="mt-3 flex flex-wrap gap-2">
          {confirmUrl !== null && <CopyButton text={confirmUrl} label={texts.copyConfirmation} />}
          {state && <PaymentLink order={order} state={state} />}
          {state && <CardRequest order={order} state={state} />}
          {canRetry && <Retry order={order} />}
        </div>
      )}
    </section>
  );
}

function Notices({ state: { link, paid_by: paid, obstacle } }: { state: State }) {
  return (
    <>
      {paid && (
        <p className="mt-2">
          {paid.by_link ? texts.paidByLink : texts.paidLater}{' '}
          <TextLink to={`/orders/${paid.id}`}>{orders.titleOf(paid.order_number)}</TextLink>
        </p>
      )}
      {(obstacle === 'not_for_sale' || obstacle === 'price_changed') && (
        <p className="mt-2">{texts.obstacles[obstacle]}</p>
      )}
      {link?.active && !paid?.by_link && (
        <p className="mt-2">
          {link.sent_at ? (
            <>
              {texts.sentAt} <DateTime at={link.sent_at} />.
            </>
          ) : (
            texts.linkMade
          )}{' '}
          <TextLink to={`/payment-links/${link.id}`}>{texts.viewLink}</TextLink>
        </p>
      )}
    </>
  );
}

interface OfferProps {
  readonly order: Order;
  readonly state: State;
}

function PaymentLink({ order, state: { link, obstacle, sends_emails } }: OfferProps) {
  const may = useCan('payment_links:write');
  const [asks, setAsks] = useState(false);
  const amount = money(order.total, order.currency);
  const path = `/dashboard/orders/${order.id}/payment_link`;
  const make = useAction<null, SentLink>({
    send: (_input, key) => call('POST', path, { body: { send: false }, key }),
    onDone: ({ link: made }) =>
      void copyText(made.url).then((copied) => toast(copied ? texts.linkCopied : texts.linkReady)),
    tells: true,
  });
  if (!may || obstacle !== null) return null;
  return (
    <>
      {sends_emails && (
        <Button kind={link?.sent_at ? 'plain' : 'primary'} onClick={() => setAsks(true)}>
          {link?.sent_at ? texts.sendAgain : texts.sendLink(amount)}
        </Button>
      )}
      {link?.active ? (
        <CopyButton text={link.url} label={texts.copyLink} />
      ) : (
        <Button busy={make.busy} onClick={() => void make.run(null)}>
          {texts.copyLink}
        </Button>
      )}
      {asks && (
        <Ask
          title={texts.linkTitle}
          path={path}
          body={{ send: true }}
          done={texts.linkSent}
          onClose={() => setAsks(false)}
        >
          {texts.linkText(order.customer?.email ?? texts.someone, amount)}
        </Ask>
      )}
    </>
  );
}

function CardRequest({ order, state: { sends_emails } }: OfferProps) {
  const may = useCan('customer_sessions:write');
  const [asks, setAsks] = useState(false);
  if (!may || !sends_emails) return null;
  return (
    <>
      <Button onClick={() => setAsks(true)}>{texts.askCard}</Button>
      {asks && (
        <Ask
          title={texts.cardTitle}
          path={`/dashboard/orders/${order.id}/card_request`}
          done={texts.cardSent}
          onClose={() => setAsks(false)}
        >
          {texts.cardText(order.customer?.email ?? texts.someone)}{' '}
          {order.subscription_id === null ? texts.cardLater : texts.cardCharged}
        </Ask>
      )}
    </>
  );
}

interface AskProps {
  readonly title: string;
  readonly path: string;
  readonly body?: object;
  readonly done: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** An email that the customer got within the hour is not sent again. */
function Ask({ title, path, body, done, onClose, children }: AskProps) {
  return (
    <Confirm<SentRequest>
      title={title}
      confirm={texts.send}
      send={(key) => call('POST', path, { key, ...(body ? { body } : {}) })}
      onDone={({ is_new }) => toast(is_new ? done : texts.sentAlready)}
      onClose={onClose}
    >
      {children}
    </Confirm>
  );
}

function Retry({ order }: { order: Order }) {
  const may = useCan('orders:write');
  const [asks, setAsks] = useState(false);
  if (!may) return null;
  return (
    <>
      <Button onClick={() => setAsks(true)}>{orders.retry}</Button>
      {asks && (
        <Confirm<Order>
          title={orders.retryTitle}
          amount={money(order.total, order.currency)}
          confirm={orders.retry}
          done={orders.retryDone}
          send={(key) => call('POST', `/v1/orders/${order.id}/retry`, { key })}
          onClose={() => setAsks(false)}
        >
          {orders.retryCharge}
        </Confirm>
      )}
    </>
  );
}
