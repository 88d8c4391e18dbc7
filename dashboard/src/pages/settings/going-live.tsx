import { LinkButton } from '../../components/button.tsx';
import { GoingLiveChecklist } from '../../components/going-live.tsx';
import { Empty, Page } from '../../components/page.tsx';
import { useSignedIn } from '../../session.ts';
import { goingLive } from '../../texts/going-live.ts';
import { home } from '../../texts/home.ts';
import { settings } from '../../texts/settings.ts';

export function GoingLivePage() {
  const { company } = useSignedIn();
  return (
    <Page title={goingLive.title} back={{ to: '/settings', label: settings.title }}>
      {company.mode === 'live' ? (
        <GoingLiveChecklist />
      ) : (
        <div className="panel">
          <Empty title={goingLive.sandboxTitle} actions={<LinkButton to="/home">{home.title}</LinkButton>}>
            {goingLive.sandbox}
          </Empty>
        </div>
      )}
    </Page>
  );
}
