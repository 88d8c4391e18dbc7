/** Drawn on a 20 px grid, in the color of the surrounding text. */
const paths = {
  home: 'M3 9.5 10 4l7 5.5V16a1 1 0 0 1-1 1h-3.5v-4.5h-5V17H4a1 1 0 0 1-1-1z',
  customers:
    'M7.5 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2 16.5c.4-3 2.6-4.5 5.5-4.5s5.1 1.5 5.5 4.5M13 4a3 3 0 0 1 0 5.5M15 12.3c1.7.6 2.7 2 3 4.2',
  orders: 'M4 3h12v14l-2.5-1.5L11.5 17 10 15.5 8.5 17l-2-1.5L4 17zM7 7h6M7 10.5h6',
  subscriptions: 'M4 10a6 6 0 0 1 10.5-4L16 7.5M16 4v3.5h-3.5M16 10a6 6 0 0 1-10.5 4L4 12.5M4 16v-3.5h3.5',
  transactions: 'M3 7h12.5M12.5 4l3 3-3 3M17 13H4.5M7.5 10l-3 3 3 3',
  products: 'M10 2.5 17 6v8l-7 3.5L3 14V6zM3 6l7 3.5L17 6M10 9.5v8',
  plans: 'M4 4.5h12a1 1 0 0 1 1 1V16a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V5.5a1 1 0 0 1 1-1zM3 8.5h14M7 2.5v4M13 2.5v4',
  coupons: 'M3 6h14v2.5a1.5 1.5 0 0 0 0 3V14H3v-2.5a1.5 1.5 0 0 0 0-3zM12 6v8',
  developers: 'M7 6 3 10l4 4M13 6l4 4-4 4',
  key: 'M12.5 3.5a4 4 0 1 0 1.5 7.7M9 10.5 3 16.5M5 14.5l2 2M12.5 7.5h.01',
  webhook: 'M10 10 7 15M10 10a3 3 0 1 1 2.5-4.7M7 15a2.5 2.5 0 1 1-2-3.9M10 10l3 5M13 15a2.5 2.5 0 1 0 2-3.9',
  bolt: 'M11 2.5 4.5 11.5h5L9 17.5l6.5-9h-5z',
  list: 'M7.5 5.5h9M7.5 10h9M7.5 14.5h9M3.5 5.5h.01M3.5 10h.01M3.5 14.5h.01',
  shield: 'M10 2.5 16 5v5c0 3.5-2.5 6-6 7.5C6.5 16 4 13.5 4 10V5z',
  team: 'M10 9.5a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM4 17c.4-3.5 2.8-5 6-5s5.6 1.5 6 5',
  settings: 'M4 6h6M14 6h2M12 4v4M4 14h2M10 14h6M8 12v4',
  sandbox: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 6v4l2.5 2',
  search: 'M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM13 13l4 4',
  menu: 'M3 6h14M3 10h14M3 14h14',
  close: 'M5 5l10 10M15 5 5 15',
  down: 'M6 8l4 4 4-4',
  up: 'M6 12l4-4 4 4',
  more: 'M4.5 10h.01M10 10h.01M15.5 10h.01',
  copy: 'M7 7h9v9H7zM4 13V4h9',
  check: 'M4 10.5 8 14.5 16 6',
  plus: 'M10 4v12M4 10h12',
  download: 'M10 3v9M6.5 9l3.5 3.5L13.5 9M4 16.5h12',
  sun: 'M10 13.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM10 2v1.5M10 16.5V18M2 10h1.5M16.5 10H18M4.3 4.3l1.1 1.1M14.6 14.6l1.1 1.1M4.3 15.7l1.1-1.1M14.6 5.4l1.1-1.1',
  card: 'M3 5h14v10H3zM3 8.5h14',
  mail: 'M3 5h14v10H3zM3 5.5l7 5.5 7-5.5',
  warning: 'M10 3.5 17.5 16.5h-15zM10 8v4M10 14.3h.01',
  book: 'M10 5.5C8.500 4.200 6.200 3.700 3 3.800v11.400c3.200-.1 5.500.4 7 1.700 1.500-1.300 3.800-1.800 7-1.700V3.800c-3.200-.1-5.500.4-7 1.700zM10 5.500v11.400',
  keyboard: 'M3 5.500h14v9H3zM6 8.500h.01M9 8.500h.01M12 8.500h.01M14.500 8.500h.01M7 11.700h6',
  outside: 'M8 4.500H4.500v11h11V12M11.500 4.500h4v4M15.500 4.500 9.500 10.500',
  flag: 'M5 17.5v-14M5 4h10.5L13 7.75l2.5 3.75H5',
  link: 'M8.5 11.5a3 3 0 0 0 4.2 0l3-3a3 3 0 0 0-4.2-4.2L10.5 5.3M11.5 8.5a3 3 0 0 0-4.2 0l-3 3a3 3 0 0 0 4.2 4.2l1-1',
  upload: 'M10 13V4M6.5 7.5 10 4l3.5 3.5M4 16.5h12',
  left: 'M12 5l-5 5 5 5',
  right: 'M8 5l5 5-5 5',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === 'more' ? 2.6 : 1.6}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      className="shrink-0"
    >
      <path d={paths[name]} />
    </svg>
  );
}
