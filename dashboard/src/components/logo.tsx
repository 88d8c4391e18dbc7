import { productName } from '../brand.ts';

/** The logo and the name of the installation. */
export function Logo({ named = true }: { named?: boolean }) {
  return (
    <span className="flex items-center gap-2.5 text-lg font-semibold tracking-tight">
      <img src="/logo" alt="" width={28} height={28} className="size-7 shrink-0 object-contain" />
      <span className={named ? '' : 'max-sm:sr-only'}>{productName}</span>
    </span>
  );
}
