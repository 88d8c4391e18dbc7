import { useState } from 'react';
import { call } from '../../api.ts';
import { Badge } from '../../components/badge.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { eventTypes } from '../../event-types.ts';
import { common } from '../../texts/common.ts';
import { webhooks } from '../../texts/webhooks.ts';
import type { WebhookEndpoint, WebhookTestResult } from '../../types.ts';

export function TestEndpoint({ endpoint, onClose }: { endpoint: WebhookEndpoint; onClose: () => void }) {
  const [result, setResult] = useState<WebhookTestResult>();
  const form = useForm({
    initial: { event_type: 'order.succeeded' },
    forgettable: true,
    send: (body, key) => call<WebhookTestResult>('POST', `/v1/webhook_endpoints/${endpoint.id}/test`, { body, key }),
    onDone: setResult,
  });
  return (
    <Dialog title={webhooks.test} onClose={onClose}>
      <Form form={form} submit={webhooks.test} onCancel={onClose} cancel={common.close}>
        <p className="break-all text-muted">{endpoint.url}</p>
        <SelectField
          form={form}
          name="event_type"
          label={webhooks.event}
          choices={eventTypes.map((value) => ({ value, label: value }))}
        />
        <div role="status">
          {result && (
            <div className="flex flex-col gap-2 rounded-[8px] bg-sunken p-4">
              <p className="text-sm font-medium">{webhooks.testResult}</p>
              <p className="flex items-center gap-3">
                <Badge status={result.status} />
                {webhooks.testSent(result.http_status, result.duration_ms)}
              </p>
              {result.error && <p className="text-bad">{result.error}</p>}
            </div>
          )}
        </div>
      </Form>
    </Dialog>
  );
}
