import { useState } from 'react';
import { Button } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { useCan } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { invoices } from '../../texts/invoices.ts';

interface SettingEntriesProps<Entry> {
  readonly label: string;
  readonly entries: readonly Entry[];
  readonly columns: readonly Column<Entry>[];
  /** Of the question before one is removed. */
  readonly titleOf: (entry: Entry) => string;
  readonly text: string;
  /** A request replaces all of them. */
  readonly save: (entries: readonly Entry[], key: string) => Promise<unknown>;
}

/** The entries of a setting, each with a button that removes it. */
export function SettingEntries<Entry extends object>(props: SettingEntriesProps<Entry>) {
  const { label, entries, columns, titleOf, text, save } = props;
  const canWrite = useCan('company:write');
  const [removed, setRemoved] = useState<Entry>();
  if (entries.length === 0) return null;
  return (
    <div className="my-4">
      <Table
        label={label}
        rows={entries}
        keyOf={(entry) => String(entries.indexOf(entry))}
        columns={[
          ...columns,
          {
            header: '',
            end: true,
            cell: (entry) => (
              <Button kind="plain" reason={canWrite ? undefined : common.notAllowed} onClick={() => setRemoved(entry)}>
                {invoices.remove}
              </Button>
            ),
          },
        ]}
      />
      {removed && (
        <Confirm
          title={titleOf(removed)}
          confirm={invoices.remove}
          danger
          done={common.saved}
          send={(key) =>
            save(
              entries.filter((entry) => entry !== removed),
              key,
            )
          }
          onClose={() => setRemoved(undefined)}
        >
          {text}
        </Confirm>
      )}
    </div>
  );
}
