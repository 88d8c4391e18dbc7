import { CardName } from '../../components/card-mark.tsx';
import { Badge } from '../../components/badge.tsx';
import { TextLink } from '../../components/button.tsx';
import { CopyId } from '../../components/copy.tsx';
import { CustomerLink } from '../../components/customer-link.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Metadata } from '../../components/metadata.tsx';
import { Facts, LoadWhole, Page, Panel } from '../../components/page.tsx';
import { FailureReason } from '../../components/payment-cells.tsx';
import { useGet } from '../../data.ts';
import { money, shortId } from '../../format.ts';
import { useCan, useExpand } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { transactions } from '../../texts/transactions.ts';
import type { Order, Transaction } from '../../types.ts';
import { useParams } from '../../routing.tsx';

export function TransactionPage() {
  const expand = useExpand('customer');
  const { id = '' } = useParams();
  const path = `/v1/transactions/${id}`;
  const query = useGet<Transaction>(path, { expand });
  return (
    <LoadWhole query={query} path={path}>
      {(transaction) => <Details transaction={transaction} />}
    </LoadWhole>
  );
}

/** The number of the order, once it is loaded. */
function OrderLink({ id }: { id: string }) {
  const { data } = useGet<Order>(`/v1/orders/${id}`, {}, { enabled: useCan('orders:read') });
  return <TextLink to={`/orders/${id}`}>{data?.order_number ?? shortId(id)}</TextLink>;
}

/** The letter of the card network, and its meaning if it is a common one: `Y · Address and postal code match`. */
function resultText(letter: string | null, meanings: Readonly<Record<string, string>>): string | null {
  return letter && [letter, meanings[letter]].filter(Boolean).join(' · ');
}

function Details({ transaction }: { transaction: Transaction }) {
  const { customer, payment_method: card, processor_response: answer } = transaction;
  return (
    <Page
      title={money(transaction.amount, transaction.currency)}
      badge={<Badge status={transaction.status} />}
      lead={transactions.types[transaction.type]}
      back={{ to: '/transactions', label: transactions.title }}
    >
      <Panel title={common.details}>
        <Facts
          facts={[
            [common.id, <CopyId key="id" id={transaction.id} />],
            [common.customer, <CustomerLink key="customer" id={transaction.customer_id} customer={customer} />],
            transaction.order_id !== null && [transactions.order, <OrderLink key="order" id={transaction.order_id} />],
            card && [common.card, <CardName key="card" card={card} />],
            transaction.failure_code !== null && [
              transactions.failure,
              <FailureReason key="failure" of={transaction} />,
            ],
            [common.created, <DateTime key="created" at={transaction.created_at} />],
            [common.updated, <DateTime key="updated" at={transaction.updated_at} />],
          ]}
        />
      </Panel>
      {answer && (
        <Panel title={transactions.processor}>
          <Facts
            facts={[
              [
                transactions.reference,
                answer.transaction_id ? <CopyId key="reference" id={answer.transaction_id} whole /> : '—',
              ],
              [transactions.authorization, answer.authorization_code],
              [transactions.avs, resultText(answer.avs_result, transactions.avsResults)],
              [transactions.cvv, resultText(answer.cvv_result, transactions.cvvResults)],
              [transactions.response, [answer.response_code, answer.response_text].filter(Boolean).join(' · ')],
            ]}
          />
        </Panel>
      )}
      {transaction.authentication && <Authentication result={transaction.authentication} />}
      <Metadata metadata={transaction.metadata} />
    </Page>
  );
}

/** How the bank authenticated the customer, and who bears the loss of a fraud. */
function Authentication({ result }: { result: NonNullable<Transaction['authentication']> }) {
  const { status, flow, liability_shifted: shifted, version, eci } = result;
  return (
    <Panel title={transactions.authentication}>
      <Facts
        facts={[
          [transactions.authenticationResult, transactions.authenticationResults[status]],
          flow !== null && [transactions.authenticationFlow, transactions.authenticationFlows[flow]],
          [
            transactions.liability,
            transactions.liabilities[shifted === null ? 'unknown' : shifted ? 'bank' : 'merchant'],
          ],
          version !== null && [transactions.authenticationVersion, version],
          eci !== null && [transactions.eci, eci],
        ]}
      />
    </Panel>
  );
}
