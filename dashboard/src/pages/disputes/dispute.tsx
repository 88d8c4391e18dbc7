import { Badge } from '../../components/badge.tsx';
import { TextLink } from '../../components/button.tsx';
import { CopyId } from '../../components/copy.tsx';
import { CustomerLink } from '../../components/customer-link.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Deadline, needsResponse } from '../../components/deadline.tsx';
import { Facts, LoadWhole, Page, Panel } from '../../components/page.tsx';
import { TimelineList } from '../../components/timeline.tsx';
import { lookEveryMs, useGet } from '../../data.ts';
import { money } from '../../format.ts';
import { useExpand, useSignedIn } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { disputes } from '../../texts/disputes.ts';
import type { DisputeDetail, Order } from '../../types.ts';
import { DisputeActions } from './dispute-actions.tsx';
import { EvidenceForm } from './evidence-form.tsx';
import { EvidenceFiles } from './files.tsx';
import { useParams } from '../../routing.tsx';

const final: readonly DisputeDetail['status'][] = ['inquiry_closed', 'won', 'lost', 'accepted'];

export function DisputePage() {
  const { id = '' } = useParams();
  const path = `/dashboard/disputes/${id}`;
  const query = useGet<DisputeDetail>(path);
  const isOpen = query.data !== undefined && !final.includes(query.data.status);
  // Poll until the dispute is decided, so that the decision appears without a reload.
  useGet<DisputeDetail>(path, {}, { enabled: isOpen, everyMs: lookEveryMs });
  return (
    <LoadWhole query={query} path={path}>
      {(dispute) => <Details key={dispute.id} dispute={dispute} />}
    </LoadWhole>
  );
}

function Details({ dispute }: { dispute: DisputeDetail }) {
  const expand = useExpand('customer');
  const { data: order } = useGet<Order>(`/v1/orders/${dispute.order_id}`, { expand });
  const [reason, claim] = disputes.reasons[dispute.reason];
  const isAnsweredOutside = dispute.answer.is_decided_by_hand && dispute.status === 'needs_response';
  return (
    <Page
      title={money(dispute.amount, dispute.currency)}
      badge={<Badge status={dispute.status} />}
      lead={isAnsweredOutside ? disputes.answeredOutside : disputes.meanings[dispute.status]}
      back={{ to: '/disputes', label: disputes.title }}
      actions={<DisputeActions dispute={dispute} />}
    >
      <div className="grid items-start gap-x-10 lg:grid-cols-[3fr_2fr]">
        {/* On a phone, the facts come before the long form. */}
        <div className="min-w-0 lg:order-2">
          <Panel title={common.details}>
            <Facts
              facts={[
                needsResponse(dispute) && [disputes.deadline, <Deadline key="deadline" dispute={dispute} />],
                [disputes.reason, reason],
                [disputes.claim, claim],
                dispute.network_reason_code !== null && [disputes.networkCode, dispute.network_reason_code],
                [
                  disputes.order,
                  <TextLink key="order" to={`/orders/${dispute.order_id}`}>
                    {dispute.order_number}
                  </TextLink>,
                ],
                order && [
                  common.customer,
                  <CustomerLink key="customer" id={order.customer_id} customer={order.customer} />,
                ],
                dispute.processor !== null && [disputes.processor, dispute.processor],
                [common.id, <CopyId key="id" id={dispute.id} />],
                [common.created, <DateTime key="created" at={dispute.created_at} />],
              ]}
            />
          </Panel>
          <Panel title={common.timeline}>
            <TimelineList entries={entriesOf(dispute)} />
          </Panel>
        </div>
        <div className="min-w-0">
          {dispute.answer.is_possible ? <EvidenceForm dispute={dispute} /> : <SubmittedEvidence dispute={dispute} />}
        </div>
      </div>
    </Page>
  );
}

/** The newest entry comes first. */
function entriesOf({ status, created_at, submitted_at, updated_at }: DisputeDetail) {
  const isInquiry = status === 'inquiry' || status === 'inquiry_closed';
  return [
    ...(final.includes(status) ? [{ at: updated_at, summary: disputes.happened[status] }] : []),
    ...(submitted_at ? [{ at: submitted_at, summary: disputes.evidenceSubmitted }] : []),
    { at: created_at, summary: disputes.happened[isInquiry ? 'inquiry' : 'needs_response'] },
  ];
}

/** What was submitted, and why nothing more can be. */
function SubmittedEvidence({ dispute }: { dispute: DisputeDetail }) {
  const { company } = useSignedIn();
  const { answer, evidence, files } = dispute;
  const texts = disputes.questions.filter(({ name }) => evidence[name]);
  const hasNone = texts.length === 0 && files.length === 0;
  return (
    <>
      {answer.reason && (
        <p className="mb-5 rounded-[8px] bg-info-soft px-4 py-3 text-info">
          {answer.reason}
          {answer.is_decided_by_hand && ` ${disputes.decide[company.mode]}`}
        </p>
      )}
      <Panel
        title={dispute.submitted_at ? disputes.submittedEvidence : hasNone ? disputes.evidence : disputes.unsentDraft}
      >
        {hasNone ? (
          <p className="text-muted">{disputes.noEvidence}</p>
        ) : (
          <dl className="flex flex-col gap-4">
            {texts.map(({ name, label }) => (
              <div key={name}>
                <dt className="text-sm text-muted">{label}</dt>
                <dd className="wrap-anywhere whitespace-pre-wrap">{evidence[name]}</dd>
              </div>
            ))}
          </dl>
        )}
      </Panel>
      {files.length > 0 && (
        <Panel title={disputes.files}>
          <EvidenceFiles files={files} />
        </Panel>
      )}
    </>
  );
}
