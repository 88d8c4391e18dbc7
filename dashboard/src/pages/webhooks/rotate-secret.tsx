import { useState } from 'react';
import { call } from '../../api.ts';
import { SecretDialog } from '../../components/copy.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { SelectField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { webhooks } from '../../texts/webhooks.ts';
import type { RotatedWebhookSecret } from '../../types.ts';

export function RotateSecret({ endpointId, onClose }: { endpointId: string; onClose: () => void }) {
  const [rotated, setRotated] = useState<RotatedWebhookSecret>();
  const form = useForm({
    initial: { grace: '24' },
    send: ({ grace }, key) =>
      call<RotatedWebhookSecret>('POST', `/v1/webhook_endpoints/${endpointId}/rotate_secret`, {
        body: { grace_period_hours: Number(grace) },
        key,
      }),
    onDone: setRotated,
  });
  if (rotated) {
    return (
      <SecretDialog
        title={webhooks.secretTitle}
        secret={rotated.new_signing_secret}
        note={webhooks.secretOnce}
        onClose={onClose}
      >
        <p className="text-muted">
          {webhooks.oldUntil} <DateTime at={rotated.previous_secret_valid_until} />
        </p>
      </SecretDialog>
    );
  }
  return (
    <Dialog title={webhooks.rotate} onClose={onClose}>
      <Form form={form} submit={webhooks.rotate} onCancel={onClose}>
        <p>{webhooks.rotateText}</p>
        <SelectField
          form={form}
          name="grace"
          path="grace_period_hours"
          label={webhooks.grace}
          choices={Object.entries(webhooks.graces).map(([value, label]) => ({ value, label }))}
        />
      </Form>
    </Dialog>
  );
}
