import { CardWarnings } from '../../components/card-warnings.tsx';
import { Curl } from '../../components/curl.tsx';
import { Icon, type IconName } from '../../components/icons.tsx';
import { Page, Panel } from '../../components/page.tsx';
import { placeIcon } from '../../navigation.ts';
import { useSignedIn } from '../../session.ts';
import { developers } from '../../texts/developers.ts';
import { Link } from '../../routing.tsx';

export function DevelopersPage() {
  const { company } = useSignedIn();
  const can = (permission: string) => company.permissions.includes(permission);
  const places = [
    { to: '/developers/api-keys', text: developers.cards.keys, shown: can('api_keys:read') },
    { to: '/developers/webhooks', text: developers.cards.webhooks, shown: can('webhook_endpoints:read') },
    { to: '/developers/events', text: developers.cards.events, shown: can('events:read') },
    { to: '/developers/requests', text: developers.cards.requests, shown: can('requests:read') },
    { to: '/in-doubt', text: developers.cards.inDoubt, shown: can('transactions:read') },
  ].filter(({ shown }) => shown);
  const look = 'panel block h-full p-5 hover:border-line-strong';
  const [referenceTitle, referenceText] = developers.cards.reference;
  return (
    <Page title={developers.title} lead={developers.lead}>
      <CardWarnings />
      <ul className="mb-5 grid gap-4 sm:grid-cols-2 lg:grid-cols-3">
        {places.map(({ to, text: [title, text] }) => (
          <li key={to}>
            <Link to={to} className={look}>
              <PlaceMark icon={placeIcon(to)} />
              <span className="block font-semibold">{title}</span>
              <span className="block text-sm text-muted">{text}</span>
            </Link>
          </li>
        ))}
        <li>
          <a href="/docs/api" className={look}>
            <PlaceMark icon="book" />
            <span className="block font-semibold">{referenceTitle}</span>
            <span className="block text-sm text-muted">{referenceText}</span>
          </a>
        </li>
      </ul>
      <Panel title={developers.firstCall}>
        <p className="mb-3 text-muted">
          {developers.version}: <span className="font-mono">{company.api_version}</span>
        </p>
        <Curl method="GET" path="/v1/customers" />
      </Panel>
    </Page>
  );
}

const PlaceMark = ({ icon }: { icon: IconName }) => (
  <span className="mb-3 flex size-8 items-center justify-center rounded-[8px] bg-accent-soft text-accent-ink">
    <Icon name={icon} size={16} />
  </span>
);
