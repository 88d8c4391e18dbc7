import { useGet } from '../data.ts';
import { useCan } from '../session.ts';
import { cardNotices } from '../texts/card-notices.ts';
import { Panel } from './page.tsx';

/** Shown while many payments on the checkout pages of the company are declined. */
export function CardTesting() {
  const query = useGet<{ under_attack: boolean; declined: number }>(
    '/dashboard/card_testing',
    {},
    { enabled: useCan('orders:read') },
  );
  if (!query.data?.under_attack) return null;
  const { title, text } = cardNotices.testing;
  return (
    <Panel title={title}>
      <p role="status" className="rounded-[8px] bg-warn-soft px-3.5 py-2.5 text-warn">
        {text(String(query.data.declined))}
      </p>
    </Panel>
  );
}
