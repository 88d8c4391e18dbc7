import { useState } from 'react';
import { call } from '../../api.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField } from '../../components/fields.tsx';
import { ErrorNote, Form, useAction, useForm } from '../../components/form.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { webhooks } from '../../texts/webhooks.ts';
import type { CompanySettings, WebhookEndpoint, WebhookVersionMoved } from '../../types.ts';

const knownVersions = ['2025-11-04', '2026-02-11'];

export function MoveVersion({ endpoint, onClose }: { endpoint: WebhookEndpoint; onClose: () => void }) {
  const company = useGet<CompanySettings>('/dashboard/company');
  const versions = (company.data?.versions.map(({ version }) => version) ?? knownVersions).filter(
    (version) => version !== endpoint.api_version,
  );
  const [sample, setSample] = useState<WebhookVersionMoved>();
  const pathTo = (version: string) =>
    `/v1/webhook_endpoints/${endpoint.id}/${version > endpoint.api_version ? 'upgrade' : 'downgrade'}_version`;
  const form = useForm({
    initial: { version: '' },
    forgettable: true,
    send: ({ version }, key) => {
      const wanted = version || (versions[0] ?? '');
      return call<WebhookVersionMoved>('POST', pathTo(wanted), { body: { api_version: wanted, dry_run: true }, key });
    },
    onDone: setSample,
  });
  const apply = useAction<string, WebhookVersionMoved>({
    send: (version, key) => call('POST', pathTo(version), { body: { api_version: version }, key }),
    onDone: () => {
      toast(webhooks.moved);
      onClose();
    },
  });
  return (
    <Dialog title={webhooks.move} wide onClose={onClose}>
      <Form form={form} submit={webhooks.compare} onCancel={onClose}>
        <p className="text-muted">{webhooks.moveLead}</p>
        <SelectField
          form={form}
          name="version"
          path="api_version"
          label={webhooks.moveTo}
          choices={versions.map((value) => ({ value, label: value }))}
        />
      </Form>
      {sample && (
        <div className="mt-5 flex flex-col gap-4">
          {sample.sample.length === 0 && <p className="text-muted">{webhooks.noSample}</p>}
          {sample.sample.length > 0 && <p className="text-sm text-muted">{webhooks.changedOnly}</p>}
          {sample.sample.map(({ event_id, before, after }) => (
            <Difference key={event_id} eventId={event_id} before={before} after={after} sample={sample} />
          ))}
          {apply.error && <ErrorNote error={apply.error} />}
          <div className="flex justify-end">
            <Button kind="primary" busy={apply.busy} onClick={() => void apply.run(sample.api_version)}>
              {webhooks.apply(sample.api_version)}
            </Button>
          </div>
        </div>
      )}
    </Dialog>
  );
}

const linesOf = (value: unknown): string[] => JSON.stringify(value, null, 2).split('\n');

interface DifferenceProps {
  readonly eventId: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly sample: WebhookVersionMoved;
}

function Difference({ eventId, before, after, sample }: DifferenceProps) {
  const [left, right] = [linesOf(before), linesOf(after)];
  const same = left.join('\n') === right.join('\n');
  return (
    <section>
      <h3 className="mb-1 font-mono text-[13px] break-all">{eventId}</h3>
      {same ? (
        <p className="text-muted">{webhooks.same}</p>
      ) : (
        <div className="grid gap-3 md:grid-cols-2">
          <Side
            title={webhooks.before(sample.previous_api_version)}
            lines={left}
            others={right}
            mark="−"
            tone="bg-bad-soft text-bad"
          />
          <Side
            title={webhooks.after(sample.api_version)}
            lines={right}
            others={left}
            mark="+"
            tone="bg-good-soft text-good"
          />
        </div>
      )}
    </section>
  );
}

function Side({
  title,
  lines,
  others,
  mark,
  tone,
}: {
  title: string;
  lines: readonly string[];
  others: readonly string[];
  mark: string;
  tone: string;
}) {
  // Ignore trailing commas, which depend on the next line.
  const bare = (line: string): string => line.replace(/,$/, '');
  const inOthers = new Set(others.map(bare));
  return (
    <div className="min-w-0">
      <p className="text-sm font-medium">{title}</p>
      <pre
        role="region"
        aria-label={title}
        tabIndex={0}
        className="max-h-80 overflow-auto rounded-[8px] border border-line p-2 font-mono text-xs"
      >
        {lines.map((line, index) => {
          const differs = !inOthers.has(bare(line));
          return (
            <span key={index} className={`block ${differs ? tone : ''}`}>
              {differs ? mark : ' '} {line}
            </span>
          );
        })}
      </pre>
    </div>
  );
}
