import Type from 'typebox';
import { choice } from '../platform/choice.ts';
import { checkOf } from '../platform/schema-check.ts';
import { type DefenseReasons, type DisputeOutcome, evidenceFiles, type EvidenceRequest } from './processors/notices.ts';
import type { ConnectionKey } from './vault.ts';

/** The calls of the vault about disputes, also as a separate process. */

export interface DisputeVault {
  /** The reasons for which the processor defends a dispute; none if it does not ask for one. */
  defenseReasons(request: ConnectionKey & { readonly disputeId: string }): Promise<DefenseReasons>;
  submitEvidence(request: ConnectionKey & EvidenceRequest): Promise<DisputeOutcome>;
  acceptDispute(request: ConnectionKey & Omit<EvidenceRequest, 'texts' | 'files' | 'defense'>): Promise<DisputeOutcome>;
}

export type Mount = <Body>(
  path: string,
  check: { Check(body: unknown): body is Body },
  call: (body: Body) => Promise<unknown>,
  bodyLimit?: number,
) => void;

const id = Type.String({ format: 'uuid' });
const about = { companyId: id, connectionId: id, disputeId: Type.String() };
const reference = Type.String();

const calls = {
  defenseReasons: checkOf(Type.Object(about)),
  accept: checkOf(Type.Object({ ...about, reference })),
  submit: checkOf(
    Type.Object({
      ...about,
      reference,
      texts: Type.Record(Type.String(), Type.String()),
      files: Type.Array(
        Type.Object({
          id: Type.Optional(id),
          kind: choice(evidenceFiles),
          name: Type.String(),
          contentType: choice(['application/pdf', 'image/jpeg', 'image/png']),
          content: Type.String(),
        }),
      ),
      defense: Type.Optional(
        Type.Object({
          reason: Type.String(),
          documents: Type.Array(Type.Object({ type: Type.String(), source: Type.String() })),
        }),
      ),
    }),
  ),
};

/** Evidence has files; every other call is small. */
const evidenceBytesMax = 64 * 1024 * 1024;

export function mountDisputes(mount: Mount, vault: DisputeVault): void {
  mount('/defense-reasons', calls.defenseReasons, (body) => vault.defenseReasons(body));
  mount('/accept-dispute', calls.accept, (body) => vault.acceptDispute(body));
  // An API of an earlier version knows only the first path, and has no choice of a reason.
  for (const path of ['/submit-evidence', '/submit-defense']) {
    mount(
      path,
      calls.submit,
      ({ files, defense, ...body }) =>
        vault.submitEvidence({
          ...body,
          ...(defense && { defense }),
          files: files.map(({ id: fileId, content, ...file }) => ({
            ...file,
            ...(fileId !== undefined && { id: fileId }),
            content: Buffer.from(content, 'base64'),
          })),
        }),
      evidenceBytesMax,
    );
  }
}
