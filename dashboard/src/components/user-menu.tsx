import { useQueryClient } from '@tanstack/react-query';
import { ApiError, call } from '../api.ts';
import { personName } from '../format.ts';
import { forgetPlaces } from '../recent.ts';
import { useSignedIn } from '../session.ts';
import { shell } from '../texts/common.ts';
import { chooseTheme, useTheme } from '../theme.ts';
import { Icon } from './icons.tsx';
import { Menu, MenuItem, MenuLabel, MenuLine } from './menu.tsx';
import { toast } from './toasts.tsx';
import { navigate } from '../routing.tsx';

export function useSignOut(): () => Promise<void> {
  const client = useQueryClient();
  return async () => {
    try {
      await call('DELETE', '/dashboard/session');
    } catch (error) {
      // The user is still signed in and must know it before they leave.
      if (error instanceof ApiError && error.undecided) return toast(error.message, true);
    }
    client.clear();
    forgetPlaces();
    location.assign('/login');
  };
}

export function UserMenu() {
  const { user } = useSignedIn().session;
  const { choice } = useTheme();
  const signOut = useSignOut();
  const initials = `${user.first_name.slice(0, 1)}${user.last_name.slice(0, 1)}`.toUpperCase();
  return (
    <Menu
      trigger={
        <button
          type="button"
          aria-label={shell.userMenu}
          // Hidden from the accessible name.
          data-initials={initials}
          className="flex size-9 shrink-0 items-center justify-center rounded-full bg-sunken text-sm font-semibold before:content-[attr(data-initials)] hover:bg-line"
        >
          {initials === '' && <Icon name="team" />}
        </button>
      }
    >
      <div className="px-2.5 py-1.5">
        <p className="font-medium">{personName(user)}</p>
        <p className="text-sm text-muted">{user.email}</p>
      </div>
      <MenuLine />
      <MenuItem icon="settings" onSelect={() => void navigate({ to: '/account' })}>
        {shell.account}
      </MenuItem>
      <MenuLine />
      <MenuLabel>{shell.theme}</MenuLabel>
      {(['light', 'dark', 'system'] as const).map((theme) => (
        <MenuItem key={theme} onSelect={() => chooseTheme(theme)}>
          <span className="grow">{shell.themes[theme]}</span>
          {choice === theme && <Icon name="check" size={16} />}
        </MenuItem>
      ))}
      <MenuLine />
      <MenuItem onSelect={() => void signOut()}>{shell.signOut}</MenuItem>
    </Menu>
  );
}
