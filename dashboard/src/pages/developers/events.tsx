import { CopyId } from '../../components/copy.tsx';
import { Curl } from '../../components/curl.tsx';
import { DateTime } from '../../components/date-time.tsx';
import { useLive } from '../../components/live.tsx';
import { nameOf, ObjectLink } from '../../components/object-link.tsx';
import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';
import { ResourceTable } from '../../components/resource-table.tsx';
import { datesFilter, type Filter } from '../../list-filters.ts';
import { eventTypes } from '../../event-types.ts';
import { common } from '../../texts/common.ts';
import { developers } from '../../texts/developers.ts';
import type { Event } from '../../types.ts';

/** The object of an event, by the first word of its type. */
export function EventObject({ event: { type, data } }: { event: Event }) {
  const object = data.object as object as Readonly<Record<string, unknown>>;
  const id = typeof object.id === 'string' ? object.id : '';
  const [kind = ''] = type.split('.');
  return <ObjectLink type={kind} id={id} name={nameOf(object)} />;
}

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
          { header: developers.object, cell: (event) => <EventObject event={event} />, wide: true, wraps: true },
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
