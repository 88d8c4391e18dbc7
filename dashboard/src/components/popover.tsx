import { cloneElement, type ComponentProps, type ReactElement, type ReactNode, useEffect } from 'react';
import { type Align, floatingLook, useFloating } from './floating.ts';

interface PopoverProps {
  readonly trigger: ReactElement<ComponentProps<'button'>>;
  readonly children: ReactNode;
  readonly label: string;
  readonly open?: boolean;
  readonly onOpenChange?: (open: boolean) => void;
  readonly align?: Align;
  readonly className?: string;
}

/** A panel with fields or text, which a button opens. */
export function Popover(props: PopoverProps) {
  const { trigger, children, label, open: wanted, onOpenChange, align = 'start', className = 'w-72 p-3' } = props;
  const { open, panel, close, trigger: button, content } = useFloating({ align, open: wanted, onOpenChange });
  useEffect(() => {
    if (!open) return;
    const first = panel.current?.querySelector<HTMLElement>('input, select, textarea, button, a[href]');
    (first ?? panel.current)?.focus();
  }, [open, panel]);
  return (
    <>
      {cloneElement(trigger, { ...button, 'aria-haspopup': 'dialog' })}
      <div
        {...content}
        role="dialog"
        aria-label={label}
        tabIndex={-1}
        className={`${floatingLook} ${className}`}
        onBlur={({ relatedTarget, currentTarget }) => {
          const stays = currentTarget.contains(relatedTarget) || relatedTarget?.id === button.id;
          if (relatedTarget && !stays) close();
        }}
      >
        {open && children}
      </div>
    </>
  );
}
