/** Colors for people at a terminal. NO_COLOR (https://no-color.org) turns them off. */

const codes = { bold: [1, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const;
type Style = keyof typeof codes;

function hasColors(): boolean {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  if (NO_COLOR) return false;
  return FORCE_COLOR ? FORCE_COLOR !== '0' : process.stdout.isTTY && TERM !== 'dumb';
}

export function styled(style: Style, text: string): string {
  if (!hasColors()) return text;
  const [begin, end] = codes[style];
  return `\u001b[${begin}m${text}\u001b[${end}m`;
}

/** An HTTP status by its class. */
export function coloredStatus(status: number): string {
  if (status >= 500) return styled('red', String(status));
  return styled(status >= 400 ? 'yellow' : 'green', String(status));
}
