import type { ComponentProps, ReactNode } from 'react';
import { Icon, type IconName } from './icons.tsx';
import { Link } from '../routing.tsx';

type ButtonKind = 'primary' | 'plain' | 'quiet' | 'danger';

const looks: Readonly<Record<ButtonKind, string>> = {
  primary: 'bg-accent text-on-accent hover:brightness-110',
  plain: 'border border-line-strong bg-surface hover:bg-sunken',
  quiet: 'hover:bg-sunken',
  danger: 'bg-bad-fill text-white hover:brightness-110',
};

function buttonClass(kind: ButtonKind, small = false): string {
  const size = small ? 'min-h-8 px-2.5 text-sm' : 'min-h-9 px-3.5';
  return `inline-flex items-center justify-center gap-2 rounded-[8px] font-medium whitespace-nowrap transition-colors disabled:cursor-not-allowed disabled:opacity-60 ${size} ${looks[kind]}`;
}

interface ButtonProps extends ComponentProps<'button'> {
  readonly kind?: ButtonKind;
  readonly small?: boolean;
  readonly icon?: IconName;
  readonly busy?: boolean;
  /** Why the button is disabled. It stays focusable, so that every user can read the reason. */
  readonly reason?: string | undefined;
}

export function Button(props: ButtonProps) {
  const {
    kind = 'plain',
    small = false,
    icon,
    busy = false,
    reason,
    children,
    className = '',
    onClick,
    ...rest
  } = props;
  const refused = reason !== undefined;
  return (
    <button
      type="button"
      {...rest}
      className={`${buttonClass(kind, small)} ${refused ? 'cursor-not-allowed opacity-60' : ''} ${className}`}
      disabled={rest.disabled || busy}
      aria-busy={busy || undefined}
      aria-disabled={refused || undefined}
      title={reason ?? rest.title}
      onClick={refused ? (event) => event.preventDefault() : onClick}
    >
      {busy ? <Spinner /> : icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

function Spinner() {
  return (
    <span
      aria-hidden="true"
      className="size-4 animate-spin rounded-full border-2 border-current border-t-transparent"
    />
  );
}

export function IconButton({ label, icon, ...rest }: ComponentProps<'button'> & { label: string; icon: IconName }) {
  return (
    <button
      type="button"
      {...rest}
      aria-label={label}
      title={label}
      className={`inline-flex size-9 items-center justify-center rounded-[8px] text-muted hover:bg-sunken hover:text-ink disabled:pointer-events-none disabled:opacity-35 ${rest.className ?? ''}`}
    >
      <Icon name={icon} />
    </button>
  );
}

interface LinkButtonProps {
  readonly to: string;
  readonly kind?: ButtonKind;
  readonly small?: boolean;
  readonly icon?: IconName;
  readonly search?: Record<string, string>;
  readonly children: ReactNode;
}

export function LinkButton({ to, kind = 'plain', small = false, icon, search, children }: LinkButtonProps) {
  return (
    <Link to={to} {...(search ? { search } : {})} className={buttonClass(kind, small)}>
      {icon && <Icon name={icon} />}
      {children}
    </Link>
  );
}

interface AnchorButtonProps extends Pick<LinkButtonProps, 'kind' | 'small' | 'icon' | 'children'> {
  readonly href: string;
  /** Opens another tab. */
  readonly outside?: boolean;
}

/** Leads out of the dashboard. */
export function AnchorButton({ href, kind = 'plain', small, icon, outside = false, children }: AnchorButtonProps) {
  const tab = outside ? { target: '_blank', rel: 'noreferrer' } : {};
  return (
    <a href={href} {...tab} className={buttonClass(kind, small)}>
      {icon && <Icon name={icon} />}
      {children}
    </a>
  );
}

export function TextLink({
  to,
  search,
  children,
}: {
  to: string;
  search?: Record<string, string>;
  children: ReactNode;
}) {
  return (
    <Link to={to} {...(search ? { search } : {})} className="link">
      {children}
    </Link>
  );
}
