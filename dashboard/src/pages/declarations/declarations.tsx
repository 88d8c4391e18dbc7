import { useState } from 'react';
import { call } from '../../api.ts';
import { Button, TextLink } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Empty } from '../../components/empty.tsx';
import { Facts, Failure, Page, Panel, Skeleton } from '../../components/page.tsx';
import { lookEveryMs, useGet } from '../../data.ts';
import { useCan } from '../../session.ts';
import { declarations as texts } from '../../texts/declarations.ts';
import type { Declaration, Declarations } from '../../types.ts';

const path = '/dashboard/declarations';

/** What customers declared on the pages of the merchant, what waits for an answer first. */
export function DeclarationsPage() {
  const query = useGet<Declarations>(path, {}, { everyMs: lookEveryMs });
  const rows = query.data?.data;
  return (
    <Page title={texts.title} lead={texts.lead}>
      {query.error && !query.data ? (
        <Failure error={query.error} retry={() => void query.refetch()} />
      ) : rows === undefined ? (
        <Skeleton />
      ) : rows.length === 0 ? (
        <Empty title={texts.empty}>{texts.emptyText}</Empty>
      ) : (
        rows.map((row) => <DeclarationPanel key={row.id} declaration={row} />)
      )}
    </Page>
  );
}

function DeclarationPanel({ declaration }: { declaration: Declaration }) {
  const { id, kind, order_id, subscription_id, ends_at, handled_at } = declaration;
  const [asking, setAsking] = useState(false);
  const canWrite = useCan('customers:write');
  const close = (): void => setAsking(false);
  return (
    <Panel
      title={texts.kinds[kind]}
      actions={
        handled_at === null &&
        canWrite && (
          <Button small onClick={() => setAsking(true)}>
            {texts.handle}
          </Button>
        )
      }
    >
      <Facts
        facts={[
          [texts.received, <DateTime key="received" at={declaration.created_at} />],
          [texts.name, declaration.name],
          [texts.email, declaration.email],
          [texts.contract, declaration.contract],
          declaration.message !== null && [texts.message, declaration.message],
          order_id !== null && [
            texts.order,
            <TextLink key="order" to={`/orders/${order_id}`}>
              {texts.viewOrder}
            </TextLink>,
          ],
          subscription_id !== null && [
            texts.subscription,
            <TextLink key="subscription" to={`/subscriptions/${subscription_id}`}>
              {texts.viewSubscription}
            </TextLink>,
          ],
          ends_at !== null && [texts.ends, <DateTime key="ends" at={ends_at} />],
          handled_at !== null && [texts.handled, <DateTime key="handled" at={handled_at} />],
        ]}
      />
      {asking && (
        <Confirm
          title={texts.handle}
          confirm={texts.handle}
          done={texts.done}
          send={(key) => call('POST', `${path}/${id}/handle`, { key })}
          onClose={close}
        >
          {texts.kinds[kind]}
        </Confirm>
      )}
    </Panel>
  );
}
