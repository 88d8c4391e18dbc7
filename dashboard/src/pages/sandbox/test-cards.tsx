import { CopyId } from '../../components/copy.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { sandbox } from '../../texts/sandbox.ts';

export function TestCardsPage() {
  return (
    <Page title={sandbox.cardsTitle} lead={sandbox.cardsLead}>
      {(['good', 'declined', 'special'] as const).map((group) => (
        <Panel key={group} title={sandbox.groups[group]}>
          <Table
            label={sandbox.groups[group]}
            rows={sandbox.cards[group]}
            keyOf={([number]) => number ?? ''}
            columns={[
              { header: sandbox.number, cell: ([number = '']) => <CopyId id={number} whole /> },
              { header: sandbox.behaviour, cell: ([, text]) => text },
            ]}
          />
        </Panel>
      ))}
    </Page>
  );
}
