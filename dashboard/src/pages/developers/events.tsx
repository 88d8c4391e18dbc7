import { CopyId } from '../../components/copy.tsx';
import { Curl } from '../../components/curl.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { useLive } from '../../components/live.tsx';
import { Empty, Page } from '../../components/page.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import { datesFilter, type Filter } from '../../list-filters.ts';
import { eventTypes } from '../../event-types.ts';
import { common } from '../../texts/common.ts';
import { developers } from '../../texts/developers.ts';
import type { Event } from '../../types.ts';

/** Most events have an object with an ID. */
export const objectOf = ({ data }: Event): string => (data.object as { readonly id?: string }).id ?? '';

const filters: readonly Filter[] = [
  {
    kind: 'choices',
    name: 'type',
    label: developers.eventType,
    choices: eventTypes.map((value) => ({ value, label: value })),
  },
  datesFilter,
  { kind: 'text', name: 'object_id', label: developers.objectId },
];

export function EventsPage() {
  const [live, liveButton] = useLive();
  return (
    <Page title={developers.eventsTitle} lead={developers.eventsLead}>
      <ResourceTable<Event>
        path="/v1/events"
        everyMs={live}
        actions={liveButton}
        label={developers.eventsTitle}
        keyOf={({ id }) => id}
        link={({ id }) => `/developers/events/${id}`}
        filters={filters}
        columns={[
          {
            header: developers.eventType,
            cell: ({ type: name }) => <span className="font-mono text-[13px]">{name}</span>,
          },
          { header: developers.objectId, cell: (event) => <CopyId id={objectOf(event)} />, wide: true },
          { header: common.id, cell: ({ id }) => <CopyId id={id} />, wide: true },
          { header: common.date, cell: ({ created_at }) => <DateTime at={created_at} />, end: true },
        ]}
        empty={
          <Empty title={developers.emptyEvents}>
            <p>{developers.emptyEventsText}</p>
            <Curl method="GET" path="/v1/events" />
          </Empty>
        }
      />
    </Page>
  );
}
