import type { NewApiKey, RotatedApiKey } from '../../server/features/api-keys/schemas.ts';
import type { CardWarnings } from '../../server/features/card-warnings/schemas.ts';
import type { Timeline } from '../../server/features/events/schemas.ts';
import type * as overview from '../../server/features/overview/schemas.ts';
import type { PermissionList } from '../../server/features/team/schemas.ts';
import type { Session } from '../../server/features/users/schemas.ts';

/** The types of what the service answers, all taken from the server. They are types only: the bundle holds nothing of it. */
export type * from '../../sdk/node/src/generated/types/index.ts';
export type { PageBody as List } from '../../sdk/node/src/paging.ts';
export type { ShownApiKey as ApiKey } from '../../server/features/api-keys/schemas.ts';
export type { AuditEntry } from '../../server/features/audit/schemas.ts';
export type { BulkRefund } from '../../server/features/bulk-refunds/schemas.ts';
export type {
  PriceChange,
  PriceChangeCreate,
  PriceChangePreview,
} from '../../server/features/price-changes/schemas.ts';
export type { PlanGroup } from '../../server/features/plan-groups/schemas.ts';
export type { InvoiceSettings } from '../../server/features/invoices/schemas.ts';
export type { Declaration, Declarations } from '../../server/features/declarations/schemas.ts';
export type { Export } from '../../server/features/exports/schemas.ts';
export type { CompanySettings } from '../../server/features/companies/schemas.ts';
export type { CustomerEmail, EmailPreview } from '../../server/features/customer-emails/schemas.ts';
export type {
  DefenseReasonsList,
  Dispute,
  DisputeDetail,
  EvidenceSuggestions,
} from '../../server/features/disputes/schemas.ts';
export type { ChargebackPayments, UnmatchedChargebackList } from '../../server/features/disputes/chargeback-routes.ts';
export type { Connection, ConnectionList as Connections } from '../../server/features/processors/schemas.ts';
export type { Rehearsal } from '../../server/features/rehearsals/schemas.ts';
export type { CopyResult, GoingLive } from '../../server/features/going-live/schemas.ts';
export type {
  AgentApproval,
  AgentApprovalList as AgentApprovals,
} from '../../server/features/agent-approvals/schemas.ts';
export type {
  Attention,
  CustomerSummaries,
  CustomerValue,
  FigureName,
  Statistics,
} from '../../server/features/figures/schemas.ts';
export type { SentLink, SentRequest, WhatNow } from '../../server/features/failed-orders/schemas.ts';
export type { CreditOwed } from '../../server/features/credit/schemas.ts';
export type { Note } from '../../server/features/notes/schemas.ts';
export type { LinkName, LinkVisits } from '../../server/features/payment-links/schemas.ts';
export type { SampleData } from '../../server/features/sample-data/schemas.ts';
export type { SandboxTimeline } from '../../server/features/sandbox/timeline.ts';
export type { SavedView } from '../../server/features/saved-views/schemas.ts';
export type { ReconciliationState } from '../../server/features/reconciliation/schemas.ts';
export type { Profile } from '../../server/features/profile/schemas.ts';
export type { Health as WebhookHealth } from '../../server/features/webhooks/schemas.ts';
export type { BillPreview, Renewal } from '../../server/features/subscriptions/schemas.ts';
export type {
  Session,
  SessionEntry,
  ShownInvitation as Invitation,
  TotpEnrolment,
  TotpRecovery,
} from '../../server/features/users/schemas.ts';

export type Company = Session['companies'][number];
export type CreatedApiKey = NewApiKey | RotatedApiKey;
export type CardWarning = CardWarnings['data'][number];
export type Found = overview.Found['data'][number];
export type WaitingCharge = overview.WaitingCharges['data'][number];
export type InDoubt = overview.InDoubt['data'][number];
export type PermissionEntry = PermissionList['data'][number];
export type TimelineEntry = Timeline['data'][number];
