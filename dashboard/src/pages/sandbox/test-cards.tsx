import { CopyId } from '../../components/copy.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { Table } from '../../components/table.tsx';
import { sandbox } from '../../texts/sandbox.ts';

/** In groups, as on a card; American Express has groups of 4, 6 and 5 digits. */
function CardNumber({ number }: { number: string }) {
  const groups = number.length === 15 ? /^(.{4})(.{6})(.{5})$/ : /^(.{4})(.{4})(.{4})(.{4})$/;
  return <CopyId id={number} text={number.replace(groups, number.length === 15 ? '$1 $2 $3' : '$1 $2 $3 $4')} />;
}

export function TestCardsPage() {
  return (
    <Page title={sandbox.cardsTitle} lead={sandbox.cardsLead}>
      {(['good', 'declined', 'special'] as const).map((group) => (
        <Panel key={group} title={sandbox.groups[group]}>
          <div className="[&_table]:table-fixed [&_th:first-child]:w-48 md:[&_th:first-child]:w-80">
            <Table
              label={sandbox.groups[group]}
              rows={sandbox.cards[group]}
              keyOf={([number]) => number ?? ''}
              columns={[
                { header: sandbox.number, cell: ([number = '']) => <CardNumber number={number} /> },
                { header: sandbox.behaviour, cell: ([, text]) => text },
              ]}
            />
          </div>
        </Panel>
      ))}
    </Page>
  );
}
