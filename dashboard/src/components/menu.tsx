import { DropdownMenu } from 'radix-ui';
import type { ReactNode } from 'react';
import { Icon, type IconName } from './icons.tsx';

interface MenuProps {
  readonly trigger: ReactNode;
  readonly children: ReactNode;
  readonly align?: 'start' | 'end';
}

/** Not modal, because a modal menu adds a style element, which the content security policy forbids. */
export function Menu({ trigger, children, align = 'end' }: MenuProps) {
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align={align}
          sideOffset={6}
          collisionPadding={8}
          className="appears z-40 min-w-52 rounded-[8px] border border-line bg-raised p-1.5 shadow-pop"
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
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
  return (
    <DropdownMenu.Item
      className={`menu-item ${danger && reason === undefined ? 'text-bad' : ''}`}
      onSelect={onSelect}
      disabled={reason !== undefined}
      title={reason}
    >
      {icon && <Icon name={icon} />}
      {children}
    </DropdownMenu.Item>
  );
}

export function MenuLabel({ children }: { children: ReactNode }) {
  return <DropdownMenu.Label className="px-2.5 py-1 text-xs font-semibold text-muted">{children}</DropdownMenu.Label>;
}

export function MenuLine() {
  return <DropdownMenu.Separator className="my-1.5 h-px bg-line" />;
}
