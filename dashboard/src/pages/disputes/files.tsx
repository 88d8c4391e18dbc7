import { useRef, useState } from 'react';
import { call } from '../../api.ts';
import { Button, IconButton } from '../../components/button.tsx';
import { Field, Select } from '../../components/fields.tsx';
import { ErrorNote, useAction } from '../../components/form.tsx';
import { Table } from '../../components/table.tsx';
import { toast } from '../../components/toasts.tsx';
import { fileSize } from '../../format.ts';
import { common } from '../../texts/common.ts';
import { disputes } from '../../texts/disputes.ts';
import type { Dispute, DisputeDetail } from '../../types.ts';

type EvidenceFile = Dispute['files'][number];

interface FilesProps {
  readonly files: readonly EvidenceFile[];
  /** The path of the dispute, if files can still be removed. */
  readonly remove?: { readonly path: string; readonly reason: string | undefined };
}

export function EvidenceFiles({ files, remove }: FilesProps) {
  const action = useAction<string, unknown>({
    send: (id, key) => call('DELETE', `${remove?.path}/files/${id}`, { key }),
    onDone: () => toast(disputes.fileRemoved),
    tells: true,
  });
  return (
    <Table
      label={disputes.files}
      rows={files}
      keyOf={({ id }) => id}
      columns={[
        { header: disputes.fileName, cell: ({ name }) => name, wraps: true },
        { header: disputes.fileKind, cell: ({ kind }) => disputes.fileKinds[kind] ?? kind },
        { header: disputes.fileSize, cell: ({ size_bytes }) => fileSize(size_bytes), end: true },
        ...(remove
          ? [
              {
                header: common.actions,
                end: true,
                cell: ({ id, name }: EvidenceFile) => (
                  <IconButton
                    label={disputes.removeFile(name)}
                    icon="close"
                    disabled={action.busy || remove.reason !== undefined}
                    onClick={() => void action.run(id)}
                  />
                ),
              },
            ]
          : []),
      ]}
    />
  );
}

const typeNames: Readonly<Record<string, string>> = {
  'application/pdf': 'PDF',
  'image/jpeg': 'JPEG',
  'image/png': 'PNG',
};

/** Chooses a file, checks it against the limits of the processor, and sends it. */
export function FileUpload({ dispute, reason }: { dispute: DisputeDetail; reason: string | undefined }) {
  const { files_max, file_bytes_max, content_types } = dispute.answer;
  const input = useRef<HTMLInputElement>(null);
  const [kind, setKind] = useState('receipt');
  const [problem, setProblem] = useState<string>();
  const [sending, setSending] = useState<string>();
  const types = content_types.map((type) => typeNames[type] ?? type).join(', ');
  const action = useAction<object, DisputeDetail>({
    send: (body, key) => call('POST', `/dashboard/disputes/${dispute.id}/files`, { body, key }),
    onDone: () => toast(disputes.fileAdded),
  });
  async function add(file: File): Promise<void> {
    action.clear();
    const found = !content_types.includes(file.type)
      ? disputes.fileWrongType(file.name, types)
      : file.size > file_bytes_max
        ? disputes.fileTooLarge(file.name, fileSize(file_bytes_max))
        : undefined;
    setProblem(found);
    if (found) return;
    setSending(file.name);
    try {
      const content = await base64Of(file);
      await action.run({ kind, name: file.name, content_type: file.type, content });
    } catch {
      setProblem(disputes.fileUnreadable(file.name));
    } finally {
      setSending(undefined);
    }
  }
  const full = dispute.files.length >= files_max ? disputes.filesFull(files_max) : undefined;
  const error = problem ? new Error(problem) : action.error;
  return (
    <div className="flex flex-col gap-3">
      <p className="text-sm text-muted">{disputes.fileLimit(files_max, fileSize(file_bytes_max), types)}</p>
      <div className="flex flex-wrap items-end gap-3">
        <div className="grow sm:max-w-72">
          <Field label={disputes.fileKind}>
            {(attributes) => (
              <Select
                {...attributes}
                choices={Object.entries(disputes.fileKinds).map(([value, label]) => ({ value, label }))}
                value={kind}
                onChange={(event) => setKind(event.target.value)}
              />
            )}
          </Field>
        </div>
        <Button
          icon="upload"
          busy={sending !== undefined}
          reason={reason ?? full}
          onClick={() => input.current?.click()}
        >
          <span aria-live="polite">{sending ? disputes.uploading(sending) : disputes.chooseFile}</span>
        </Button>
      </div>
      <input
        ref={input}
        type="file"
        accept={content_types.join(',')}
        hidden
        aria-label={disputes.chooseFile}
        onChange={(event) => {
          const [file] = event.target.files ?? [];
          event.target.value = '';
          if (file) void add(file);
        }}
      />
      {error && <ErrorNote error={error} />}
    </div>
  );
}

/** The content of a file as the API takes it. Rejects if the file cannot be read. */
function base64Of(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener('error', () => reject(reader.error ?? new Error('unreadable')));
    // The result is a data URL: `data:application/pdf;base64,…`
    reader.addEventListener('load', () => resolve((reader.result as string).split(',')[1] ?? ''));
    reader.readAsDataURL(file);
  });
}
