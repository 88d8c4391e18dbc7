import { useQuery } from '@tanstack/react-query';
import { useContext } from 'react';
import { call } from '../api.ts';
import { navigate, useLocation } from '../routing.tsx';
import { companyTag, counterpartsOf, SignedInContext } from '../session.ts';
import { common } from '../texts/common.ts';
import type { Company } from '../types.ts';
import { Button, LinkButton } from './button.tsx';
import { Empty } from './empty.tsx';

/** Where the API has the object of a page. */
const objectPath =
  /^\/(?:developers\/)?(?<list>approvals|orders|customers|subscriptions|transactions|disputes|products|plans|coupons|payment-links|events|webhooks)\/(?<id>[\w-]*\d[\w-]*)$/;
const apiPaths: Readonly<Record<string, string>> = { approvals: '/dashboard/agent_approvals' };
const apiNames: Readonly<Record<string, string>> = { 'payment-links': 'payment_links', webhooks: 'webhook_endpoints' };

/** Another company of the merchant, if it has the object and the member may read it there. */
function useOwner(): Company | undefined {
  const signedIn = useContext(SignedInContext);
  const { pathname } = useLocation();
  const { list = '', id } = objectPath.exec(pathname)?.groups ?? {};
  const others = signedIn ? counterpartsOf(signedIn.session, signedIn.company) : [];
  const path = `${apiPaths[list] ?? `/v1/${apiNames[list] ?? list}`}/${id}`;
  const { data } = useQuery({
    queryKey: [others.map((other) => other.id).join(), 'exists', path],
    queryFn: async () => {
      const has = (other: Company) => call<object>('GET', path, { company: other.id }).then(Boolean, () => false);
      const found = await Promise.all(others.map(has));
      return others.find((_, index) => found[index]) ?? null;
    },
    enabled: Boolean(others.length > 0 && id),
  });
  return data ?? undefined;
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
