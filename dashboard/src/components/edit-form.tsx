import { useEffect, useRef, useState } from 'react';
import { ApiError, call, type Query, readVersion } from '../api.ts';
import {
  type Body,
  changesOf,
  checkCovered,
  type EditedField,
  mergeDrafts,
  type Merged,
  namesInBody,
  nested,
  picked,
} from '../edits.ts';
import { fieldSentence } from '../error-texts.ts';
import { personName } from '../format.ts';
import { useCan } from '../session.ts';
import { common } from '../texts/common.ts';
import { editing } from '../texts/editing.ts';
import type { AuditEntry, List, TeamMember } from '../types.ts';
import { type Change, ChangedNotice } from './changed-notice.tsx';
import { type FormOptions, type FormState, useForm } from './form.tsx';
import { toast } from './toasts.tsx';

interface EditOptions<Thing extends object, Draft extends object, Result>
  extends Omit<FormOptions<Draft, Result>, 'initial' | 'send'> {
  /** The object to edit. Without one, the form creates it with `create`. */
  readonly object: Thing | undefined;
  readonly create?: (body: Body, key: string) => Promise<Result>;
  /** Where it is changed, and read unless `readPath` is another. */
  readonly path: string;
  readonly readPath?: string;
  readonly draftOf: (object: Thing | undefined) => Draft;
  /** The fields of the API for a draft, with `a.b` for those that are changed one by one inside of `a`. */
  readonly bodyOf: (draft: Draft) => Body;
  /** The request for the changed fields. `before` and `after` have all fields. */
  readonly requestOf?: (changes: Body, before: Body, after: Body) => object;
  /** The object in the responses of both paths, if it is only a part of them. */
  readonly objectOf?: (response: unknown) => Thing;
  readonly fields: readonly EditedField<Draft>[];
  /** The audit entries of the object; by its ID unless this says otherwise. */
  readonly audit?: Query;
}

interface EditForm<Thing, Draft extends object> extends FormState<Draft> {
  /** Saves without the button of the form. */
  readonly save: (draft: Draft, key?: string) => Promise<Thing>;
}

/** Another change can come between reading and saving each time. */
const attempts = 5;

/**
 * A form that edits an object. It sends only what the user has changed. Before that, it takes over what others have changed in other
 * fields; if they have changed the same field, the user chooses. The version of the object makes sure that nothing comes in between.
 */
export function useEditForm<Thing extends object, Draft extends object, Result = Thing>(
  options: EditOptions<Thing, Draft, Result>,
): EditForm<Result, Draft> {
  const { object, path, readPath = path, draftOf, bodyOf, fields, create, onDone, ...rest } = options;
  const { requestOf = nested, objectOf = (response: unknown) => response as Thing } = options;
  const base = useRef<Draft>(undefined);
  base.current ??= draftOf(object);
  const initial = base.current;
  useEffect(() => checkCovered(fields, initial), []);
  const [conflict, setConflict] = useState<Conflict<Draft>>();
  const taken = useRef<readonly Change<Draft>[]>([]);
  const describe = useDescribe(options);

  async function save(draft: Draft, key?: string): Promise<Result> {
    setConflict(undefined);
    let mine = draft;
    for (let attempt = 1; ; attempt += 1) {
      const { body: response, version } = await readVersion<unknown>(readPath);
      const theirs = draftOf(objectOf(response));
      const merged = mergeDrafts(fields, base.current ?? mine, mine, theirs);
      await takeOver(mine, merged, theirs);
      mine = merged.draft;
      const [before, after] = [bodyOf(theirs), bodyOf(mine)];
      const changes = changesOf(before, after);
      if (Object.keys(changes).length === 0) return response as Result;
      try {
        const body = requestOf(changes, before, after);
        return await call<Result>('PATCH', path, { body, ...(key && { key }), ...(version && { ifMatch: version }) });
      } catch (error) {
        const isChanged = error instanceof ApiError && error.code === 'resource_changed';
        if (!isChanged || attempt === attempts) throw error;
      }
    }
  }

  /** Shows what others have changed. From now on, the form is based on what the service has. */
  async function takeOver(sent: Draft, merged: Merged<Draft>, theirs: Draft): Promise<void> {
    if (merged.taken.length + merged.conflicts.length === 0) return;
    const before = base.current ?? theirs;
    const changesIn = (some: readonly EditedField<Draft>[]) => describe(some, before, theirs);
    const [also, disputed] = await Promise.all([changesIn(merged.taken), changesIn(merged.conflicts)]);
    base.current = theirs;
    taken.current = [...taken.current, ...also];
    form.replace((latest) => mergeDrafts(fields, sent, latest, merged.draft).draft, theirs);
    if (disputed.length === 0) return;
    setConflict({ disputed, also: taken.current, mine: merged.draft, theirs });
    throw new ApiError(412, { code: 'resource_changed', message: editing.error }, '');
  }

  const form = useForm<Draft, Result>({
    ...rest,
    initial,
    send: (draft, key) => (object || !create ? save(draft, key) : create(bodyOf(draft), key)),
    onDone(result, draft) {
      if (object) keepUp(result, draft);
      onDone?.(result, draft);
      if (taken.current.length > 0) toast([common.saved, ...taken.current.map(meanwhile)].join(' '));
      taken.current = [];
    },
  });

  /** A form that stays open continues with what was saved, and with what was typed meanwhile. */
  function keepUp(result: Result, sent: Draft): void {
    const saved = draftOf(objectOf(result));
    base.current = saved;
    form.replace((latest) => mergeDrafts(fields, sent, latest, saved).draft, saved);
  }

  const notice = conflict && (
    <ChangedNotice
      {...conflict}
      draft={form.draft}
      onChoose={(field, chosen) => form.replace((latest) => ({ ...latest, ...picked(field, chosen) }), conflict.theirs)}
    />
  );
  const errorOf = (name: string): string | undefined => form.errorOf(name) ?? markAt(name, conflict, form.draft);
  return { ...form, errorOf, notice, save };
}

interface Conflict<Draft extends object> {
  readonly disputed: readonly Change<Draft>[];
  readonly also: readonly Change<Draft>[];
  readonly mine: Draft;
  readonly theirs: Draft;
}

/** Until the user has the value of the others there. */
function markAt<Draft extends object>(
  path: string,
  conflict: Conflict<Draft> | undefined,
  draft: Draft,
): string | undefined {
  const change = conflict?.disputed.find(({ field }) => field.path === path);
  if (!change || !conflict || mergeDrafts([change.field], conflict.theirs, conflict.theirs, draft).taken.length === 0) {
    return undefined;
  }
  return fieldSentence(change.by ? editing.changedTo(change.by, change.to) : editing.wasChangedTo(change.to));
}

const meanwhile = <Draft extends object>({ field, by, to }: Change<Draft>): string =>
  by ? editing.meanwhile(by, field.label, to) : editing.wasChangedMeanwhile(field.label, to);

/** Finds out who has changed fields, if the user may read the audit log. */
function useDescribe<Thing extends object, Draft extends object, Result>(
  options: EditOptions<Thing, Draft, Result>,
): (fields: readonly EditedField<Draft>[], before: Draft, after: Draft) => Promise<Change<Draft>[]> {
  const canRead = useCan('audit_log:read');
  const { object, bodyOf, audit = { object_id: (object as { id?: string } | undefined)?.id } } = options;
  return async (fields, before, after) => {
    if (fields.length === 0) return [];
    const entries = canRead ? await entriesOf(audit) : [];
    const described = fields.map(async (field) => {
      const names = namesInBody(field, bodyOf, before, after);
      const entry = entries.find((one) => one.fields.some((name) => names.includes(name)));
      const by = entry && (await actorText(entry.actor));
      return { field, from: field.show(before), to: field.show(after), by, at: entry?.created_at };
    });
    return Promise.all(described);
  };
}

/** The latest first. Without them, the form still says what was changed. */
const entriesOf = async (audit: Query): Promise<readonly AuditEntry[]> =>
  call<List<AuditEntry>>('GET', '/dashboard/audit_log', { query: { ...audit, limit: 50 } }).then(
    ({ data }) => data,
    () => [],
  );

/** The audit log names a member by the email address. */
async function actorText({ kind, id, name }: AuditEntry['actor']): Promise<string> {
  if (kind !== 'member') return kind === 'key' ? editing.apiKey(name) : editing.operator(name);
  return call<TeamMember>('GET', `/dashboard/team_members/${id}`).then(
    (member) => personName(member) || name,
    () => name,
  );
}
