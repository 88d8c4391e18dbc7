import { placeIcon } from '../navigation.ts';
import { Icon } from './icons.tsx';
import { useLocation } from '../routing.tsx';

/** A small picture for a page without objects: sheets, with the icon of the page on them. */
export function Drawing() {
  const icon = placeIcon(useLocation().pathname);
  return (
    <div aria-hidden="true" className="relative mb-1 h-20 w-32">
      <svg viewBox="0 0 128 80" fill="none" className="absolute inset-0 text-line">
        <rect x="28" y="6" width="72" height="60" rx="8" fill="var(--rail)" stroke="currentColor" strokeWidth="1.5" />
        <rect
          x="16"
          y="14"
          width="96"
          height="60"
          rx="8"
          fill="var(--surface)"
          stroke="currentColor"
          strokeWidth="1.5"
        />
        <path d="M28 58h22M28 66h36M88 62h12" stroke="currentColor" strokeWidth="4" strokeLinecap="round" />
      </svg>
      <span className="absolute top-5 left-1/2 flex size-9 -translate-x-1/2 items-center justify-center rounded-full bg-accent-soft text-accent-ink">
        <Icon name={icon} />
      </span>
    </div>
  );
}
