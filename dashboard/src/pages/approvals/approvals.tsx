import { useState } from 'react';
import { call } from '../../api.ts';
import { Button, TextLink } from '../../components/button.tsx';
import { Confirm } from '../../components/confirm.tsx';
import { CopyId } from '../../components/copy.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Empty } from '../../components/empty.tsx';
import { Facts, Failure, LoadWhole, Page, Panel, Skeleton } from '../../components/page.tsx';
import { lookEveryMs, useGet } from '../../data.ts';
import { money } from '../../format.ts';
import { useParams } from '../../routing.tsx';
import { approvals } from '../../texts/approvals.ts';
import { common } from '../../texts/common.ts';
import type { AgentApproval, AgentApprovals } from '../../types.ts';

const path = '/dashboard/agent_approvals';

/** What agents have asked, what waits for an answer first. */
export function ApprovalsPage() {
  const query = useGet<AgentApprovals>(path, {}, { everyMs: lookEveryMs });
  const rows = query.data?.data;
  return (
    <Page title={approvals.title} lead={approvals.lead}>
      {query.error && !query.data ? (
        <Failure error={query.error} retry={() => void query.refetch()} />
      ) : rows === undefined ? (
        <Skeleton />
      ) : rows.length === 0 ? (
        <Empty title={approvals.empty}>{approvals.emptyText}</Empty>
      ) : (
        rows.map((approval) => (
          <Panel key={approval.id} title={approvals.states[approval.state]}>
            <Approval approval={approval} />
          </Panel>
        ))
      )}
    </Page>
  );
}

/** Where the agent sends the person. */
export function ApprovalPage() {
  const { id = '' } = useParams();
  const one = `${path}/${id}`;
  const query = useGet<AgentApproval>(one);
  const isOpen = query.data?.state === 'waiting' || query.data?.state === 'approved';
  useGet<AgentApproval>(one, {}, { enabled: isOpen, everyMs: lookEveryMs });
  return (
    <LoadWhole query={query} path={one}>
      {(approval) => (
        <Page
          title={approvals.tools[approval.tool]}
          lead={approvals.lead}
          back={{ to: '/approvals', label: approvals.title }}
        >
          <Panel title={approvals.states[approval.state]}>
            <Approval approval={approval} />
          </Panel>
        </Page>
      )}
    </LoadWhole>
  );
}

type Answer = 'approve' | 'refuse';

function Approval({ approval }: { approval: AgentApproval }) {
  const [asking, setAsking] = useState<Answer>();
  const { id, question, amount, currency, key } = approval;
  const isWaiting = approval.state === 'waiting';
  return (
    <>
      <p className="mb-4 text-lg font-medium wrap-anywhere">{question}</p>
      <Facts
        facts={[
          amount !== null && currency !== null && [common.amount, money(amount, currency)],
          [approvals.key, key.name],
          objectOf(approval),
          [approvals.asked, <DateTime key="asked" at={approval.created_at} real />],
          isWaiting && [approvals.expires, <DateTime key="expires" at={approval.expires_at} real />],
          approval.decided_at !== null && [
            approvals.decidedBy,
            approval.asked_in === 'client' ? approvals.byClient : approval.decided_by,
          ],
          approval.decided_at !== null && [approvals.decided, <DateTime key="decided" at={approval.decided_at} real />],
          approval.used_at !== null && [approvals.used, <DateTime key="used" at={approval.used_at} real />],
          [common.id, <CopyId key="id" id={id} />],
        ]}
      />
      {isWaiting && <Answers approval={approval} onAnswer={setAsking} />}
      {asking && (
        <Confirm
          title={asking === 'approve' ? approvals.approveTitle : approvals.refuse}
          confirm={approvals[asking]}
          done={asking === 'approve' ? approvals.approved : approvals.refused}
          danger={asking === 'approve'}
          {...(amount !== null && currency !== null ? { amount: money(amount, currency) } : {})}
          send={(idempotencyKey) => call('POST', `${path}/${id}/${asking}`, { key: idempotencyKey })}
          onClose={() => setAsking(undefined)}
        >
          {question}
        </Confirm>
      )}
    </>
  );
}

function Answers({ approval, onAnswer }: { approval: AgentApproval; onAnswer: (answer: Answer) => void }) {
  if (approval.asked_in === 'client') return <p className="mt-4 text-muted">{approvals.elsewhere}</p>;
  const reason = approval.may_decide ? undefined : approvals.needs.replace('#', approval.needs);
  return (
    <div className="mt-4 flex gap-3">
      <Button kind="primary" reason={reason} onClick={() => onAnswer('approve')}>
        {approvals.approve}
      </Button>
      <Button reason={reason} onClick={() => onAnswer('refuse')}>
        {approvals.refuse}
      </Button>
    </div>
  );
}

function objectOf({ tool, object_id }: AgentApproval) {
  const isOrder = tool !== 'cancel_subscription';
  const label = isOrder ? approvals.order : approvals.subscription;
  const link = (
    <TextLink key="object" to={`/${isOrder ? 'orders' : 'subscriptions'}/${object_id}`}>
      {object_id}
    </TextLink>
  );
  return [label, link] as const;
}
