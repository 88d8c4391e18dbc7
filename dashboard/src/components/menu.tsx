import {
  cloneElement,
  type ComponentProps,
  createContext,
  type KeyboardEvent,
  type ReactElement,
  type ReactNode,
  use,
  useEffect,
  useRef,
} from 'react';
import { type Align, floatingLook, useFloating } from './floating.ts';
import { Icon, type IconName } from './icons.tsx';

interface MenuProps {
  readonly trigger: ReactElement<ComponentProps<'button'>>;
  readonly children: ReactNode;
  readonly align?: Align;
}

const CloseMenu = createContext<() => void>(() => undefined);

/** How long typed letters belong to one word. */
const wordMs = 600;

const itemsOf = (menu: HTMLElement | null): HTMLElement[] => [
  ...(menu?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? []),
];

export function Menu({ trigger, children, align = 'end' }: MenuProps) {
  const { open, panel, close, trigger: button, content } = useFloating({ align });
  const typed = useRef({ text: '', atMs: 0 });
  useEffect(() => {
    if (open) itemsOf(panel.current)[0]?.focus();
  }, [open, panel]);
  /** The item that begins with what was typed. */
  function matching(key: string, nowMs: number): HTMLElement | undefined {
    const { text, atMs } = typed.current;
    typed.current = { text: (nowMs - atMs < wordMs ? text : '') + key.toLowerCase(), atMs: nowMs };
    return itemsOf(panel.current).find((item) => item.textContent.trim().toLowerCase().startsWith(typed.current.text));
  }
  function onKeyDown(event: KeyboardEvent): void {
    const all = itemsOf(panel.current);
    const at = all.findIndex((item) => item === document.activeElement);
    const next: Readonly<Record<string, HTMLElement | undefined>> = {
      ArrowDown: all[(at + 1) % all.length],
      ArrowUp: all.at(at <= 0 ? -1 : at - 1),
      Home: all[0],
      End: all.at(-1),
    };
    if (event.key === 'Tab') return close();
    const isLetter = event.key.length === 1 && event.key !== ' ' && !event.ctrlKey && !event.metaKey;
    const target = next[event.key] ?? (isLetter ? matching(event.key, event.timeStamp) : undefined);
    if (!target) return;
    event.preventDefault();
    target.focus();
  }
  return (
    <>
      {cloneElement(trigger, {
        ...button,
        'aria-haspopup': 'menu',
        onKeyDown: (event) => {
          if (event.key !== 'ArrowDown' || open) return;
          event.preventDefault();
          panel.current?.showPopover();
        },
      })}
      <div
        {...content}
        role="menu"
        aria-labelledby={button.id}
        className={`${floatingLook} min-w-52 p-1.5`}
        onKeyDown={onKeyDown}
      >
        <CloseMenu value={close}>{open && children}</CloseMenu>
      </div>
    </>
  );
}

interface MenuItemProps {
  readonly onSelect: () => void;
  readonly children: ReactNode;
  readonly icon?: IconName;
  readonly danger?: boolean;
  readonly reason?: string | undefined;
}

export function MenuItem({ onSelect, children, icon, danger = false, reason }: MenuItemProps) {
  const close = use(CloseMenu);
  const refused = reason !== undefined;
  return (
    <button
      type="button"
      role="menuitem"
      tabIndex={-1}
      className={`menu-item ${danger && !refused ? 'text-bad' : ''}`}
      aria-disabled={refused || undefined}
      title={reason}
      onMouseMove={({ currentTarget }) => currentTarget.focus({ preventScroll: true })}
      onClick={() => {
        if (refused) return;
        // Closed first, so that a dialog that opens now returns the focus to the button of the menu.
        close();
        onSelect();
      }}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

export function MenuLabel({ children }: { children: ReactNode }) {
  return <p className="px-2.5 py-1 text-xs font-semibold text-muted">{children}</p>;
}

export function MenuLine() {
  return <hr className="my-1.5 h-px border-0 bg-line" />;
}
