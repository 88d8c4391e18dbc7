import { type RefObject, type ToggleEvent, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';

/**
 * A panel next to the button that opens it, on the browser's own popovers: they lie above everything, close on Escape and on a click
 * elsewhere, and return the focus.
 */

export type Align = 'start' | 'end';

export interface Floating {
  /** True while the panel is visible. Its content exists only then. */
  readonly open: boolean;
  readonly panel: RefObject<HTMLDivElement | null>;
  readonly close: () => void;
  /** For the button. */
  readonly trigger: { readonly id: string; readonly popoverTarget: string; readonly 'aria-expanded': boolean };
  /** For the panel. */
  readonly content: {
    readonly id: string;
    readonly ref: RefObject<HTMLDivElement | null>;
    readonly popover: 'auto';
    readonly onToggle: (event: ToggleEvent<HTMLDivElement>) => void;
  };
}

interface Controlled {
  readonly align: Align;
  readonly open?: boolean | undefined;
  readonly onOpenChange?: ((open: boolean) => void) | undefined;
}

const gapPx = 6;
const marginPx = 8;

/** Below the button if there is space, otherwise above it, and never outside of the window. */
function place(panel: HTMLElement, button: Element, align: Align): void {
  const { left, right, top, bottom } = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = panel;
  const { clientWidth, clientHeight } = document.documentElement;
  const wantedLeft = align === 'start' ? left : right - width;
  const below = bottom + gapPx;
  const above = top - gapPx - height;
  const wantedTop = below + height + marginPx > clientHeight && above >= marginPx ? above : below;
  const within = (value: number, most: number): number => Math.max(marginPx, Math.min(value, most - marginPx));
  panel.style.left = `${within(wantedLeft, clientWidth - width)}px`;
  panel.style.top = `${within(wantedTop, clientHeight - height)}px`;
}

export function useFloating({ align, open: wanted, onOpenChange }: Controlled): Floating {
  const [open, setOpen] = useState(false);
  const panel = useRef<HTMLDivElement>(null);
  const id = useId();
  const buttonId = `${id}-button`;
  useEffect(() => {
    if (wanted === undefined || panel.current?.matches(':popover-open') === wanted) return;
    panel.current?.togglePopover(wanted);
  }, [wanted]);
  useLayoutEffect(() => {
    const element = panel.current;
    const button = document.getElementById(buttonId);
    if (!open || !element || !button) return undefined;
    const update = (): void => place(element, button, align);
    // Its content may load, and the page may scroll, while it is open.
    const sizes = new ResizeObserver(update);
    sizes.observe(element);
    addEventListener('scroll', update, { capture: true, passive: true });
    addEventListener('resize', update);
    return () => {
      sizes.disconnect();
      removeEventListener('scroll', update, { capture: true });
      removeEventListener('resize', update);
    };
  }, [open, buttonId, align]);
  return {
    open,
    panel,
    close: () => panel.current?.hidePopover(),
    trigger: { id: buttonId, popoverTarget: id, 'aria-expanded': open },
    content: {
      id,
      ref: panel,
      popover: 'auto',
      onToggle: (event) => {
        if (event.target !== panel.current) return;
        const next = event.newState === 'open';
        setOpen(next);
        if (next !== wanted) onOpenChange?.(next);
      },
    },
  };
}

/** Above the page, with the look of text, wherever in the page it is opened. */
export const floatingLook =
  'appears fixed inset-auto empty:invisible rounded-[8px] border border-line bg-raised text-left text-base font-normal whitespace-normal text-ink shadow-pop max-h-[calc(100dvh-1rem)] max-w-[calc(100vw-1rem)] overflow-y-auto';
