import { useQuery } from '@tanstack/react-query';
import { useContext } from 'react';
import { call } from '../api.ts';
import { navigate, useLocation } from '../routing.tsx';
import { companyTag, counterpartOf, SignedInContext } from '../session.ts';
import { common } from '../texts/common.ts';
import type { Company } from '../types.ts';
import { Button, LinkButton } from './button.tsx';
import { Empty } from './empty.tsx';

/** Where the API has the object of a page. */
const objectPath =
  /^\/(?:developers\/)?(?<list>orders|customers|subscriptions|transactions|disputes|products|plans|coupons|payment-links|events|webhooks)\/(?<id>[\w-]*\d[\w-]*)$/;
const apiNames: Readonly<Record<string, string>> = { 'payment-links': 'payment_links', webhooks: 'webhook_endpoints' };

/** The other company of the merchant, if it has the object and the member may read it there. */
function useOwner(): Company | undefined {
  const signedIn = useContext(SignedInContext);
  const { pathname } = useLocation();
  const { list = '', id } = objectPath.exec(pathname)?.groups ?? {};
  const other = signedIn ? counterpartOf(signedIn.session, signedIn.company) : undefined;
  const path = `/v1/${apiNames[list] ?? list}/${id}`;
  const { data } = useQuery({
    queryKey: [other?.id, 'exists', path],
    queryFn: () => call<object>('GET', path, { company: other?.id ?? '' }).then(Boolean, () => false),
    enabled: Boolean(other && id),
  });
  return data ? other : undefined;
}

/** An object that the company does not have. If it is in the other mode, one click leads there. */
export function Missing() {
  const owner = useOwner();
  const { pathname } = useLocation();
  const home = <LinkButton to="/home">{common.toHome}</LinkButton>;
  if (!owner) {
    return (
      <Empty title={common.missingTitle} actions={home}>
        <p>{common.missingHint}</p>
      </Empty>
    );
  }
  const open = (): void => void navigate({ to: pathname, search: { company: companyTag(owner) } });
  return (
    <Empty
      title={common.elsewhereTitle[owner.mode]}
      actions={
        <>
          <Button kind="primary" onClick={open}>
            {common.switchTo[owner.mode]}
          </Button>
          {home}
        </>
      }
    >
      <p>{common.elsewhere[owner.mode]}</p>
    </Empty>
  );
}
