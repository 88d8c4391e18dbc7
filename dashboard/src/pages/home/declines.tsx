import { Panel } from '../../components/page.tsx';
import { words } from '../../format.ts';
import { home } from '../../texts/home.ts';
import type { Statistics } from '../../types.ts';
import { Link } from '../../routing.tsx';

const shownMax = 6;

/** Why payments failed, the most frequent reason first. */
export function Declines({ declines }: { declines: NonNullable<Statistics['declines']> }) {
  const most = Math.max(1, ...declines.map(({ count }) => count));
  return (
    <Panel title={home.declines}>
      {declines.length === 0 ? (
        <p className="text-muted">{home.noDeclines}</p>
      ) : (
        <ul className="flex flex-col gap-2.5">
          {declines.slice(0, shownMax).map(({ failure_code, count }) => (
            <li key={failure_code}>
              <Link to="/orders" search={{ failure_code }} className="group block">
                <span className="mb-1 flex justify-between gap-3 text-sm">
                  <span className="truncate group-hover:underline">{words(failure_code)}</span>
                  <span className="tabular-nums">{count.toLocaleString('en-US')}</span>
                </span>
                <span aria-hidden="true" className="block h-1.5 rounded-full bg-sunken">
                  <span className="block h-full rounded-full bg-bad" style={{ width: `${(100 * count) / most}%` }} />
                </span>
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
