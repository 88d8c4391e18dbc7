import type { Company } from '../../company.ts';
import { limits } from '../../limits.ts';
import type { Database } from '../../platform/database.ts';
import { newId } from '../../platform/ids.ts';
import {
  type ApprovalRow,
  countApprovalsOfDay,
  decideApproval,
  expireApprovalsOf,
  findApproval,
  findOpenApproval,
  finishApproval,
  insertApproval,
  lockAskingKey,
  type NewApproval,
  takeApproval,
} from './queries.ts';

/** Approvals for the tools of agents, always those of one API key. */

export type Question = Omit<NewApproval, 'id' | 'key_id' | 'key_name'>;

type Asked =
  | { readonly approval: ApprovalRow }
  /** The question about this object that is open; `isOwn`: of the same key. */
  | { readonly open: ApprovalRow; readonly isOwn: boolean }
  | { readonly refused: 'limit' | 'no_key' };

export interface KeyApprovals {
  readonly perDay: number;
  ask(question: Question): Promise<Asked>;
  /** Undefined if this key did not ask for it. */
  find(id: string): Promise<ApprovalRow | undefined>;
  /** The answer that the program of the agent brings from its user. */
  answer(id: string, because: 'approve' | 'refuse'): Promise<boolean>;
  take(id: string): Promise<boolean>;
  finish(id: string): Promise<void>;
}

interface Asker {
  readonly db: Database;
  readonly company: Pick<Company, 'id'>;
  readonly key: { readonly id: string; readonly name: string };
  readonly perDay: number;
  readonly nowMs: number;
}

export function approvalsOfKey({ db, company, key, perDay, nowMs }: Asker): KeyApprovals {
  const find = async (id: string): Promise<ApprovalRow | undefined> => {
    const row = await findApproval(db, company.id, id);
    return row?.key_id === key.id ? row : undefined;
  };
  return {
    perDay,
    find,
    async ask(question) {
      return db.transaction(async (transaction) => {
        if (!(await lockAskingKey(transaction, company.id, key.id))) return { refused: 'no_key' };
        await expireApprovalsOf(transaction, company.id);
        const open = await findOpenApproval(transaction, company.id, question);
        if (open) return { open, isOwn: open.key_id === key.id };
        if ((await countApprovalsOfDay(transaction, company.id, key.id)) >= perDay) return { refused: 'limit' };
        const asked = { ...question, id: newId(nowMs), key_id: key.id, key_name: key.name };
        const approval = await insertApproval(transaction, company.id, asked, limits.agentApprovalMinutes);
        if (approval) return { approval };
        // Another key asked meanwhile.
        const other = await findOpenApproval(transaction, company.id, question);
        if (!other) throw new Error('an approval was neither stored nor found');
        return { open: other, isOwn: false };
      });
    },
    async answer(id, because) {
      const own = await find(id);
      return own !== undefined && decideApproval(db, company.id, id, { because, askedIn: 'client' });
    },
    async take(id) {
      const own = await find(id);
      return own !== undefined && takeApproval(db, company.id, id);
    },
    finish: (id) => finishApproval(db, company.id, id),
  };
}
