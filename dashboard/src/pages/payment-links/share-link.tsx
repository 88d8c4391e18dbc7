import { useState } from 'react';
import { AnchorButton, Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Panel } from '../../components/page.tsx';
import { useCan, useSignedIn } from '../../session.ts';
import { common } from '../../texts/common.ts';
import { paymentLinks } from '../../texts/payment-links.ts';
import type { PaymentLink } from '../../types.ts';
import { ReadableAddress } from './readable-address.tsx';

/** The whole link, and ways to hand it on. */
export function ShareLink({ link }: { link: PaymentLink }) {
  const { name, active } = link;
  const url = link.readable_url ?? link.url;
  const { company } = useSignedIn();
  const reason = useCan('payment_links:write') ? undefined : common.notAllowed;
  const [names, setNames] = useState(false);
  return (
    <Panel>
      <div className="rounded-[12px] border border-line bg-sunken p-4 sm:p-5">
        <code data-testid="link" className="block font-mono text-[15px] break-all select-all">
          {url}
        </code>
        <div className="mt-4 flex flex-wrap gap-2">
          <CopyButton text={url} label={paymentLinks.copy} big />
          <AnchorButton href={url} icon="outside" outside>
            {paymentLinks.open}
          </AnchorButton>
          <Share name={name} url={url} />
          <Button icon="link" reason={reason} onClick={() => setNames(true)}>
            {paymentLinks.address}
          </Button>
        </div>
      </div>
      {company.mode === 'sandbox' && active && <p className="mt-2 text-sm text-muted">{paymentLinks.payYourself}</p>}
      {names && <ReadableAddress link={link} onClose={() => setNames(false)} />}
    </Panel>
  );
}

/** The apps of the device; without those, an email. */
function Share({ name, url }: { name: string; url: string }) {
  if (typeof navigator.share === 'function') {
    // Closing the menu of the device is no mistake.
    const share = (): void => void navigator.share({ title: name, url }).catch(() => undefined);
    return (
      <Button icon="upload" onClick={share}>
        {paymentLinks.share}
      </Button>
    );
  }
  const href = `mailto:?subject=${encodeURIComponent(name)}&body=${encodeURIComponent(url)}`;
  return (
    <AnchorButton href={href} icon="mail">
      {paymentLinks.shareByEmail}
    </AnchorButton>
  );
}
