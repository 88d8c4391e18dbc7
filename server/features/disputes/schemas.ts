import Type, { type Static } from 'typebox';
import { clearable, freeText, name, nullable, timestamp, uuid } from '../../http/schemas.ts';
import { limits } from '../../limits.ts';
import { customer } from '../customers/schemas.ts';
import { choice } from '../../platform/choice.ts';
import { evidenceSources } from './evidence-draft.ts';
import {
  disputeReasons,
  disputeStates,
  documentNeeds,
  evidenceFiles,
  evidenceTexts,
} from '../../vault/processors/notices.ts';

export const disputeStatus = choice(disputeStates, {
  description:
    'An inquiry takes no money. `needs_response` and `under_review` hold the money back; `won` returns it to the ' +
    'merchant; `lost` and `accepted` give it to the cardholder.',
});

const texts = Type.Object(
  Object.fromEntries(evidenceTexts.map((text) => [text, Type.Optional(freeText(limits.evidenceTextLength))])),
  { additionalProperties: false, title: 'DisputeEvidence' },
);

const contentType = choice(['application/pdf', 'image/jpeg', 'image/png']);

export const dispute = Type.Object(
  {
    id: uuid(),
    status: disputeStatus,
    order_id: uuid(),
    order_number: Type.String(),
    customer_id: uuid(),
    customer: Type.Optional(customer),
    transaction_id: uuid(),
    amount: Type.Integer(),
    currency: Type.String(),
    reason: choice(disputeReasons),
    network_reason_code: nullable(Type.String()),
    evidence_due_at: nullable(timestamp()),
    evidence: texts,
    files: Type.Array(
      Type.Object({ id: uuid(), kind: Type.String(), name: Type.String(), size_bytes: Type.Integer() }),
    ),
    submitted_at: nullable(timestamp()),
    processor: nullable(Type.String({ description: 'The name of the connection; null in the sandbox.' })),
    created_at: timestamp(),
    updated_at: timestamp(),
  },
  { title: 'Dispute' },
);
export type Dispute = Static<typeof dispute>;

const defense = Type.Object(
  {
    reason: Type.String({ minLength: 1, maxLength: 100, description: 'One of those that the processor offers.' }),
    documents: Type.Array(
      Type.Object(
        {
          type: Type.String({ minLength: 1, maxLength: 100 }),
          source: Type.String({ maxLength: 36, description: 'The ID of a file, or `texts`: all texts as one PDF.' }),
        },
        { additionalProperties: false },
      ),
      { maxItems: 20 },
    ),
  },
  { additionalProperties: false, title: 'DisputeDefense' },
);

/** With what the processor takes, for the form. */
export const disputeDetail = Type.Object(
  {
    ...dispute.properties,
    defense: nullable(defense),
    answer: Type.Object({
      is_possible: Type.Boolean(),
      is_final: Type.Boolean({
        description: 'Whether evidence can be submitted only once, and not changed afterwards.',
      }),
      is_decided_by_hand: Type.Boolean({
        description: 'Whether no processor reports how the dispute ends, so that you record the decision.',
      }),
      chooses_reason: Type.Boolean({ description: 'Whether the processor defends for a reason that you choose.' }),
      /** Why not, in words. */
      reason: nullable(Type.String()),
      text_length_max: Type.Integer(),
      file_bytes_max: Type.Integer(),
      files_max: Type.Integer(),
      content_types: Type.Array(Type.String()),
    }),
  },
  { title: 'DisputeDetail' },
);
export type DisputeDetail = Static<typeof disputeDetail>;

export const evidenceSuggestions = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        field: choice(evidenceTexts),
        lines: Type.Array(
          Type.Object({
            text: Type.String(),
            source: choice(evidenceSources, { description: 'Where it is recorded.' }),
          }),
        ),
      }),
    ),
  },
  { title: 'EvidenceSuggestions' },
);
export type EvidenceSuggestions = Static<typeof evidenceSuggestions>;

export const defenseReasons = Type.Object(
  {
    data: Type.Array(
      Type.Object({
        reason: Type.String(),
        name: Type.String({ description: 'The reason for people.' }),
        documents: Type.Array(
          Type.Object({
            type: Type.String(),
            name: Type.String(),
            need: choice(documentNeeds, {
              description:
                '`required`, at least one of all `one_of`, an `alternative` to those that are required, or `optional`.',
            }),
            is_supplied: Type.Boolean({ description: 'Whether the processor has it already.' }),
          }),
        ),
      }),
    ),
  },
  { title: 'DefenseReasons' },
);
export type DefenseReasonsList = Static<typeof defenseReasons>;

export const disputeResolution = Type.Object(
  { outcome: choice(['won', 'lost']) },
  { additionalProperties: false, title: 'DisputeResolution' },
);
export type DisputeResolution = Static<typeof disputeResolution>;

export const disputeUpdate = Type.Object(
  { evidence: Type.Optional(texts), defense: Type.Optional(clearable(defense)) },
  { additionalProperties: false, title: 'DisputeUpdate' },
);
export type DisputeUpdate = Static<typeof disputeUpdate>;

export const fileCreate = Type.Object(
  {
    kind: choice(evidenceFiles),
    name: name(),
    content_type: contentType,
    content: Type.String({ description: 'The file in base64.', pattern: '^[A-Za-z0-9+/]+={0,2}$' }),
  },
  { additionalProperties: false, title: 'DisputeFileCreate' },
);
export type FileCreate = Static<typeof fileCreate>;
