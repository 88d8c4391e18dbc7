import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { addDays, addMonths, isDay, monthOf, monthTitle, nextRange, type Range, weeksOf } from '../calendar-days.ts';
import { lists } from '../texts/lists.ts';
import { Icon } from './icons.tsx';

interface CalendarProps {
  readonly range: Range;
  readonly today: string;
  readonly onChange: (range: Range) => void;
}

const moves: Readonly<Record<string, (day: string) => string>> = {
  ArrowLeft: (day) => addDays(day, -1),
  ArrowRight: (day) => addDays(day, 1),
  ArrowUp: (day) => addDays(day, -7),
  ArrowDown: (day) => addDays(day, 7),
  PageUp: (day) => addMonths(day, -1),
  PageDown: (day) => addMonths(day, 1),
};

const longDay = new Intl.DateTimeFormat('en-US', { timeZone: 'UTC', dateStyle: 'full' });
const weekdays = ['Su', 'Mo', 'Tu', 'We', 'Th', 'Fr', 'Sa'];

/** A month in which the first and the last day of a period are picked. Arrow keys move by days and weeks, Page Up and Down by months. */
export function Calendar({ range, today, onChange }: CalendarProps) {
  const [focused, setFocused] = useState(() => firstShown(range, today));
  const isMoved = useRef(false);
  const grid = useRef<HTMLTableElement>(null);
  useEffect(() => {
    if (isMoved.current) grid.current?.querySelector<HTMLElement>('button[tabindex="0"]')?.focus();
    isMoved.current = false;
  }, [focused]);
  // A typed day is shown.
  const typed = range.to ?? range.from;
  const [seen, setSeen] = useState(typed);
  if (seen !== typed) {
    setSeen(typed);
    if (typed && isDay(typed)) setFocused(typed);
  }
  function onKeyDown(event: KeyboardEvent): void {
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    isMoved.current = true;
    setFocused(move(focused));
  }
  return (
    <div>
      <div className="mb-1 flex items-center justify-between">
        <MonthButton label={lists.previousMonth} icon="left" onClick={() => setFocused(addMonths(focused, -1))} />
        <p aria-live="polite" className="text-sm font-medium">
          {monthTitle(focused)}
        </p>
        <MonthButton label={lists.nextMonth} icon="right" onClick={() => setFocused(addMonths(focused, 1))} />
      </div>
      <table ref={grid} role="grid" aria-label={lists.calendar} className="w-full text-center text-sm tabular-nums">
        <thead>
          <tr>
            {weekdays.map((name) => (
              <th key={name} scope="col" className="py-1 text-xs font-normal text-muted">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody onKeyDown={onKeyDown}>
          {weeksOf(monthOf(focused)).map((week) => (
            <tr key={week[0]}>
              {week.map((day) => (
                <td key={day} role="gridcell" aria-selected={isEnd(day, range)} className={`p-0 ${ground(day, range)}`}>
                  <button
                    type="button"
                    tabIndex={day === focused ? 0 : -1}
                    aria-label={longDay.format(new Date(day))}
                    aria-current={day === today ? 'date' : undefined}
                    className={`h-8 w-full rounded-[6px] ${look(day, range, monthOf(focused), today)}`}
                    onClick={() => {
                      setFocused(day);
                      onChange(nextRange(range, day));
                    }}
                  >
                    {Number(day.slice(8))}
                  </button>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const firstShown = ({ from, to }: Range, today: string): string => [to, from].find((day) => day && isDay(day)) ?? today;

const isEnd = (day: string, { from, to }: Range): boolean => day === from || day === to;

/** The days between the ends are one band. */
function ground(day: string, { from, to }: Range): string {
  if (!from || !to || from === to || day < from || day > to) return '';
  const round = `${day === from ? 'rounded-l-[6px]' : ''} ${day === to ? 'rounded-r-[6px]' : ''}`;
  return `bg-accent-soft ${round}`;
}

function look(day: string, range: Range, month: string, today: string): string {
  if (isEnd(day, range)) return 'bg-accent font-medium text-on-accent';
  const tone = monthOf(day) === month ? '' : 'text-muted';
  return `hover:bg-sunken ${tone} ${day === today ? 'font-semibold text-accent-ink' : ''}`;
}

function MonthButton({ label, icon, onClick }: { label: string; icon: 'left' | 'right'; onClick: () => void }) {
  return (
    <button
      type="button"
      aria-label={label}
      className="flex size-8 items-center justify-center rounded-[6px] text-muted hover:bg-sunken hover:text-ink"
      onClick={onClick}
    >
      <Icon name={icon} size={16} />
    </button>
  );
}
