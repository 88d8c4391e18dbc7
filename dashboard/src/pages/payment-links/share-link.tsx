import { AnchorButton, Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Panel } from '../../components/page.tsx';
import { useSignedIn } from '../../session.ts';
import { paymentLinks } from '../../texts/payment-links.ts';
import type { PaymentLink } from '../../types.ts';

/** The whole link, and ways to hand it on. */
export function ShareLink({ link: { name, url, active } }: { link: PaymentLink }) {
  const { company } = useSignedIn();
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
        </div>
      </div>
      {company.mode === 'sandbox' && active && <p className="mt-2 text-sm text-muted">{paymentLinks.payYourself}</p>}
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
