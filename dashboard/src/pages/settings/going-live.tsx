import { SwitchToLive } from '../../components/company-switcher.tsx';
import { GoingLiveChecklist } from '../../components/going-live.tsx';
import { Empty } from '../../components/empty.tsx';
import { Page } from '../../components/page.tsx';
import { useSignedIn } from '../../session.ts';
import { goingLive } from '../../texts/going-live.ts';
import { settings } from '../../texts/settings.ts';

export function GoingLivePage() {
  const { company } = useSignedIn();
  return (
    <Page title={goingLive.title} back={{ to: '/settings', label: settings.title }}>
      {company.mode === 'live' ? (
        <GoingLiveChecklist />
      ) : (
        <div className="panel">
          <Empty title={goingLive.sandboxTitle} actions={<SwitchToLive />}>
            {goingLive.sandbox}
          </Empty>
        </div>
      )}
    </Page>
  );
}
