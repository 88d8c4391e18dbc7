/** The objects that were opened last in this tab, for the command palette. Forgotten when the tab closes or the user signs out. */

export interface RecentPlace {
  readonly to: string;
  readonly title: string;
  readonly subtitle: string;
}

const storageName = (companyId: string): string => `svc.recent.${companyId}`;
const keptMax = 6;

export function recentPlaces(companyId: string): readonly RecentPlace[] {
  return JSON.parse(sessionStorage.getItem(storageName(companyId)) ?? '[]') as RecentPlace[];
}

export function rememberPlace(companyId: string, place: RecentPlace): void {
  const others = recentPlaces(companyId).filter(({ to }) => to !== place.to);
  sessionStorage.setItem(storageName(companyId), JSON.stringify([place, ...others].slice(0, keptMax)));
}

export function forgetPlaces(): void {
  for (const name of Object.keys(sessionStorage)) {
    if (name.startsWith(storageName(''))) sessionStorage.removeItem(name);
  }
}
