import { call } from '../../api.ts';
import { BulkChange } from '../../components/bulk-change.tsx';
import { Badge } from '../../components/badge.tsx';
import { LinkButton } from '../../components/button.tsx';
import { Curl } from '../../components/curl.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import type { Filter } from '../../list-filters.ts';
import { lists } from '../../texts/lists.ts';
import { useCan } from '../../session.ts';
import { bulk } from '../../texts/bulk.ts';
import { common } from '../../texts/common.ts';
import { coupons } from '../../texts/coupons.ts';
import type { Coupon } from '../../types.ts';
import { couponState, discountText } from './discount.ts';

const filters: readonly Filter[] = [
  {
    kind: 'choices',
    single: true,
    name: 'kind',
    label: coupons.kind,
    choices: Object.entries(coupons.kindsShort).map(([value, label]) => ({ value, label })),
  },
  {
    kind: 'choices',
    single: true,
    name: 'archived',
    label: common.status,
    choices: [
      { value: 'true', label: coupons.archived },
      { value: 'all', label: common.all },
    ],
  },
];

export function CouponsPage() {
  const button = useCan('coupons:write') && (
    <LinkButton to="/coupons/new" kind="primary" icon="plus">
      {coupons.add}
    </LinkButton>
  );
  return (
    <Page title={coupons.title} lead={coupons.lead} actions={button}>
      <ResourceTable<Coupon>
        path="/v1/coupons"
        label={coupons.title}
        keyOf={({ id }) => id}
        link={({ id }) => `/coupons/${id}`}
        search={{ placeholder: lists.searchCoupons }}
        filters={filters}
        exports="coupons"
        bulk={(selected, done) => (
          <BulkChange
            rows={selected.filter(({ archived_at }) => archived_at === null)}
            label={bulk.archive}
            title={bulk.archiveTitle}
            nameOf={({ name }) => name}
            reason={button ? undefined : common.notAllowed}
            send={({ id }) => call('POST', `/v1/coupons/${id}/archive`, { body: { archived: true } })}
            onDone={done}
          />
        )}
        columns={[
          { header: coupons.name, sort: 'name', cell: ({ name }) => name, wraps: true },
          { header: coupons.off, cell: discountText },
          { header: common.status, cell: (coupon) => <Badge status={couponState(coupon)} /> },
          { header: coupons.kind, cell: (coupon) => coupons.kindsShort[coupon.kind], wide: true },
          {
            header: coupons.redeemed,
            cell: ({ total_redemptions, max_redemptions }) =>
              `${total_redemptions}${max_redemptions ? ` / ${max_redemptions}` : ''}`,
            end: true,
            wide: true,
          },
          {
            header: coupons.expiresShort,
            cell: ({ expires_at }) => <DateTime at={expires_at} />,
            end: true,
            wide: true,
          },
        ]}
        empty={
          <Empty title={coupons.emptyTitle} actions={button}>
            <p>{coupons.empty}</p>
            <Curl path="/v1/coupons" body={{ kind: 'promo', name: 'TEA25', percentage: 25, duration: 'once' }} keyed />
          </Empty>
        }
      />
    </Page>
  );
}
