import { TextLink } from '../../components/button.tsx';
import { CopyId } from '../../components/copy.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { JsonView } from '../../components/json-view.tsx';
import { Facts, Load, Page, Panel } from '../../components/page.tsx';
import { useGet } from '../../data.ts';
import { developers } from '../../texts/developers.ts';
import { common } from '../../texts/common.ts';
import type { Event } from '../../types.ts';
import { EventObject } from './events.tsx';
import { useParams } from '../../routing.tsx';

export function EventPage() {
  const { id = '' } = useParams();
  const query = useGet<Event>(`/v1/events/${id}`);
  return (
    <Load query={query}>
      {(event) => (
        <Page title={event.type} back={{ to: '/developers/events', label: developers.eventsTitle }}>
          <Panel title={common.details}>
            <Facts
              facts={[
                [common.id, <CopyId key="id" id={event.id} whole />],
                [developers.object, <EventObject key="object" event={event} />],
                [common.date, <DateTime key="at" at={event.created_at} />],
                [developers.apiVersion, event.api_version],
                [developers.sequence, event.sequence],
                event.request_id !== null && [
                  developers.request,
                  <TextLink key="request" to="/developers/requests" search={{ request_id: event.request_id }}>
                    {event.request_id}
                  </TextLink>,
                ],
              ]}
            />
          </Panel>
          <JsonView value={event} label={developers.payload} />
        </Page>
      )}
    </Load>
  );
}
