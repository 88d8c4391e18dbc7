import { call, changeField } from '../../api.ts';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/fields.tsx';
import { Form, useForm } from '../../components/form.tsx';
import { Load } from '../../components/page.tsx';
import { toast } from '../../components/toasts.tsx';
import { useGet } from '../../data.ts';
import { useCan, useSignedIn } from '../../session.ts';
import { slugOf } from '../../slug.ts';
import { common } from '../../texts/common.ts';
import { paymentLinks } from '../../texts/payment-links.ts';
import type { LinkName, PaymentLink } from '../../types.ts';

interface AddressProps {
  readonly link: PaymentLink;
  readonly onClose: () => void;
}

const namePath = '/dashboard/payment_link_name';

/** Names the company and the link in the address, for example /pay/tea-house/autumn. */
export function ReadableAddress({ link, onClose }: AddressProps) {
  const name = useGet<LinkName>(namePath);
  return (
    <Dialog title={paymentLinks.address} onClose={onClose}>
      <Load query={name}>{(current) => <AddressForm link={link} current={current} onClose={onClose} />}</Load>
    </Dialog>
  );
}

function AddressForm({ link, current, onClose }: AddressProps & { current: LinkName }) {
  const { company } = useSignedIn();
  const canName = useCan('company:write');
  const form = useForm({
    initial: { name: current.name ?? slugOf(company.name), slug: link.slug ?? slugOf(link.name) },
    check: ({ name, slug }) => ({
      name: name.trim() ? undefined : common.required,
      slug: slug.trim() || link.slug ? undefined : common.required,
    }),
    send: async ({ name, slug }, key) => {
      if (canName && name.trim() !== current.name) await call('POST', namePath, { body: { name: name.trim() } });
      await changeField(`/v1/payment_links/${link.id}`, 'slug', slug.trim() || null, key);
    },
    onDone: () => {
      toast(paymentLinks.changed);
      onClose();
    },
    forgettable: true,
  });
  const { name, slug } = form.draft;
  return (
    <Form form={form} submit={common.save} onCancel={onClose}>
      <p className="text-muted">{paymentLinks.addressLead}</p>
      {canName || current.name ? (
        <TextField
          form={form}
          name="name"
          label={paymentLinks.companyPart}
          hint={paymentLinks.companyPartHint}
          readOnly={!canName}
        />
      ) : (
        <p className="rounded-[8px] bg-warn-soft px-3.5 py-2.5 text-warn">{paymentLinks.noCompanyPart}</p>
      )}
      <TextField form={form} name="slug" label={paymentLinks.linkPart} hint={paymentLinks.linkPartHint} />
      <p className="font-mono text-[13px] break-all text-muted" data-testid="address">
        {`${new URL(link.url).origin}/pay/${current.prefix}${name.trim()}/${slug.trim()}`}
      </p>
    </Form>
  );
}
