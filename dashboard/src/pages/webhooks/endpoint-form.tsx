import { call } from '../../api.ts';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/fields.tsx';
import { useEditForm } from '../../components/edit-form.tsx';
import { Form } from '../../components/form.tsx';
import { editedFields } from '../../edits.ts';
import { common } from '../../texts/common.ts';
import { webhooks } from '../../texts/webhooks.ts';
import type { CreatedWebhookEndpoint, WebhookEndpoint } from '../../types.ts';
import { EventPicker } from './event-picker.tsx';
import { LocalCommands } from './local-events.tsx';

interface EndpointFormProps {
  readonly endpoint?: WebhookEndpoint;
  readonly onClose: () => void;
  readonly onDone: (endpoint: CreatedWebhookEndpoint) => void;
}

/** An address without TLS, or one that only this computer can reach. */
const isLocal = (url: string): boolean =>
  /^http:\/\/\S/i.test(url.trim()) ||
  /^(https?:\/\/)?(localhost|127\.\d+\.\d+\.\d+|\[::1\]|[^/:]+\.(local|test|localhost))([:/]|$)/i.test(url.trim());

const draftOf = (endpoint?: WebhookEndpoint) => ({
  url: endpoint?.url ?? '',
  description: endpoint?.description ?? '',
  enabled_events: [...(endpoint?.enabled_events ?? ['*'])],
});
type Draft = ReturnType<typeof draftOf>;

const bodyOf = ({ url, description, enabled_events }: Draft) => ({
  url: url.trim(),
  description: description.trim() || null,
  enabled_events,
});

const fields = editedFields<Draft>({
  url: webhooks.url,
  description: common.description,
  enabled_events: webhooks.events,
});

export function EndpointForm({ endpoint, onClose, onDone }: EndpointFormProps) {
  const form = useEditForm({
    object: endpoint,
    path: `/v1/webhook_endpoints/${endpoint?.id}`,
    create: (body, key) => call<CreatedWebhookEndpoint>('POST', '/v1/webhook_endpoints', { body, key }),
    draftOf,
    bodyOf,
    fields,
    check: ({ enabled_events }) => ({ enabled_events: enabled_events.length === 0 ? webhooks.chooseEvent : undefined }),
    onDone: (saved) => {
      onClose();
      onDone(saved);
    },
  });
  return (
    <Dialog title={endpoint ? webhooks.edit : webhooks.add} onClose={onClose}>
      <Form form={form} submit={endpoint ? common.save : webhooks.add} onCancel={onClose}>
        <TextField
          form={form}
          name="url"
          label={webhooks.url}
          hint={webhooks.urlHint}
          type="url"
          placeholder="https://shop.example.com/webhooks"
        />
        <TextField form={form} name="description" label={common.description} placeholder={common.optional} />
        {isLocal(form.draft.url) && (
          <div className="flex flex-col gap-2">
            {!form.errorOf('url') && <p role="status">{webhooks.local.notHere}</p>}
            <LocalCommands receiver={form.draft.url} />
          </div>
        )}
        <EventPicker
          chosen={form.draft.enabled_events}
          onChange={(chosen) => form.set('enabled_events', chosen)}
          error={form.errorOf('enabled_events')}
        />
      </Form>
    </Dialog>
  );
}
