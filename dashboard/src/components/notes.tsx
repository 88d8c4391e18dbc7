import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api.ts';
import { useGet } from '../data.ts';
import { useCan, useSignedIn } from '../session.ts';
import { common } from '../texts/common.ts';
import { notes as texts } from '../texts/notes.ts';
import type { Note } from '../types.ts';
import { Button, IconButton } from './button.tsx';
import { Confirm } from './confirm.tsx';
import { DateTime } from './date-time.tsx';
import { AreaField } from './fields.tsx';
import { FormError, PlainForm, useForm } from './form.tsx';
import { Panel, Skeleton } from './page.tsx';

interface NotesProps {
  readonly of: 'customer' | 'order';
  readonly id: string;
}

/** Notes of the team. Customers never see them. */
export function Notes({ of, id }: NotesProps) {
  const path = `/dashboard/${of}s/${id}/notes`;
  const { company } = useSignedIn();
  const canWrite = useCan(`${of}s:write`);
  const client = useQueryClient();
  const query = useGet<{ data: readonly Note[] }>(path);
  const [deleting, setDeleting] = useState<Note>();
  const reload = () => void client.invalidateQueries({ queryKey: [company.id, path] });
  const form = useForm({
    initial: { text: '' },
    check: ({ text }) => ({ text: text.trim() === '' ? texts.empty : undefined }),
    send: ({ text }, key) => call<Note>('POST', path, { body: { text: text.trim() }, key }),
    onDone: () => {
      form.set('text', '');
      reload();
    },
  });
  const found = query.data?.data;
  if (query.error) return null;
  return (
    <Panel title={texts.title}>
      {canWrite && (
        <PlainForm form={form} className="flex flex-col gap-3">
          <AreaField form={form} name="text" label={texts.label} placeholder={texts.hint} rows={2} isLabelHidden />
          <FormError form={form} />
          <div>
            <Button type="submit" small busy={form.busy}>
              {texts.add}
            </Button>
          </div>
        </PlainForm>
      )}
      {found === undefined ? (
        <Skeleton />
      ) : found.length === 0 ? (
        !canWrite && <p className="text-muted">{texts.none}</p>
      ) : (
        <ul className="mt-4 flex flex-col gap-3">
          {found.map((note) => (
            <li key={note.id} className="group relative rounded-[8px] bg-sunken px-3.5 py-2.5">
              <p className="pr-8 whitespace-pre-wrap wrap-anywhere">{note.text}</p>
              <p className="mt-1 text-sm text-muted">
                {note.author.name} · <DateTime at={note.created_at} />
              </p>
              {canWrite && (
                <span className="absolute top-1 right-1">
                  <IconButton icon="close" label={texts.delete} onClick={() => setDeleting(note)} />
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
      {deleting && (
        <Confirm
          title={texts.deleteTitle}
          confirm={common.delete}
          danger
          done={texts.deleted}
          send={(key) => call('DELETE', `${path}/${deleting.id}`, { key })}
          onDone={reload}
          onClose={() => setDeleting(undefined)}
        >
          {texts.deleteText}
        </Confirm>
      )}
    </Panel>
  );
}
