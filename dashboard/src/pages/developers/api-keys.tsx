import { useState } from 'react';
import { call } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Button, IconButton } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { Curl } from '../../components/curl.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Menu, MenuItem } from '../../components/menu.tsx';
import { Empty } from '../../components/empty.tsx';
import { Failure, Page } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { useGet, useOpening } from '../../data.ts';
import { useCan, useReasonAgainst } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { developers } from '../../texts/developers.ts';
import type { ApiKey, CreatedApiKey } from '../../types.ts';
import { KeyForm, MadeKey, RotateKey } from './key-dialogs.tsx';

type Open = { readonly what: 'create' } | { readonly what: 'edit' | 'rotate' | 'revoke'; readonly key: ApiKey };

export function ApiKeysPage() {
  const query = useGet<{ data: readonly ApiKey[] }>('/dashboard/api_keys');
  const [open, setOpen] = useState<Open>();
  const [made, setMade] = useState<CreatedApiKey>();
  const reason = useCan('api_keys:write') ? undefined : common.notAllowed;
  const reasonAgainst = useReasonAgainst();
  const close = () => setOpen(undefined);
  useOpening('add', () => setOpen({ what: 'create' }));
  const button = (
    <Button kind="primary" icon="plus" reason={reason} onClick={() => setOpen({ what: 'create' })}>
      {developers.newKey}
    </Button>
  );
  return (
    <Page title={developers.keysTitle} lead={developers.keysLead} actions={button}>
      {query.error && !query.data ? (
        <Failure error={query.error} retry={() => void query.refetch()} />
      ) : (
        <div>
          {query.data?.data.length === 0 ? (
            <Empty title={developers.emptyKeys} actions={button}>
              <p>{developers.emptyKeysText}</p>
              <Curl method="GET" path="/v1/customers" />
            </Empty>
          ) : (
            <Table
              label={developers.keysTitle}
              rows={query.data?.data}
              keyOf={({ id }) => id}
              columns={[
                {
                  header: common.name,
                  cell: ({ name, prefix }) => (
                    <>
                      <span className="block font-medium md:min-w-32">{name}</span>
                      <code className="block font-mono text-xs break-all text-muted md:hidden">{prefix}…</code>
                    </>
                  ),
                },
                { header: developers.kind, cell: ({ kind }) => developers.kinds[kind], wide: true },
                {
                  header: developers.key,
                  cell: ({ prefix }) => <code className="font-mono text-[13px] whitespace-nowrap">{prefix}…</code>,
                  wide: true,
                },
                { header: common.status, cell: ({ status }) => <Badge status={status} /> },
                {
                  header: developers.lastUsed,
                  wide: true,
                  cell: ({ last_used_at }) =>
                    last_used_at ? <DateTime at={last_used_at} real /> : developers.neverUsed,
                },
                { header: developers.expires, cell: ({ expires_at }) => <DateTime at={expires_at} />, wide: true },
                {
                  header: common.actions,
                  end: true,
                  cell: (key) => {
                    const refused = reason ?? reasonAgainst(key.permissions);
                    return (
                      key.status === 'active' && (
                        <Menu trigger={<IconButton label={`${common.more}: ${key.name}`} icon="more" />}>
                          <MenuItem reason={refused} onSelect={() => setOpen({ what: 'edit', key })}>
                            {common.edit}
                          </MenuItem>
                          <MenuItem reason={refused} onSelect={() => setOpen({ what: 'rotate', key })}>
                            {developers.rotate}
                          </MenuItem>
                          <MenuItem reason={refused} danger onSelect={() => setOpen({ what: 'revoke', key })}>
                            {developers.revoke}
                          </MenuItem>
                        </Menu>
                      )
                    );
                  },
                },
              ]}
            />
          )}
        </div>
      )}
      {open?.what === 'create' && <KeyForm onClose={close} onMade={setMade} />}
      {open?.what === 'edit' && <KeyForm apiKey={open.key} onClose={close} onMade={() => undefined} />}
      {open?.what === 'rotate' && <RotateKey apiKey={open.key} onClose={close} onMade={setMade} />}
      {open?.what === 'revoke' && (
        <Confirm
          title={developers.revokeTitle}
          confirm={developers.revoke}
          danger
          done={developers.revoked}
          send={(key) => call('DELETE', `/dashboard/api_keys/${open.key.id}`, { key })}
          onClose={close}
        >
          {developers.revokeText(open.key.name)}
        </Confirm>
      )}
      {made && <MadeKey made={made} onClose={() => setMade(undefined)} />}
    </Page>
  );
}
