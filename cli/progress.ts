/** Shows progress on standard error, so that standard output contains only the result. */

const quietMs = 2_000;
const everyMs = 1_000;
/** Without a terminal, an occasional line is enough. */
const unwatchedEveryMs = 15_000;

export async function withProgress<Result>(label: string, work: () => Promise<Result>): Promise<Result> {
  const { isTTY } = process.stderr;
  const startedMs = performance.now();
  let shown = false;
  const show = (): void => {
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    shown = true;
    process.stderr.write(isTTY ? `\r${label} … ${seconds} s` : `${label} … ${seconds} s\n`);
  };
  let ticking: NodeJS.Timeout | undefined;
  const first = setTimeout(
    () => {
      show();
      ticking = setInterval(show, isTTY ? everyMs : unwatchedEveryMs);
    },
    isTTY ? quietMs : unwatchedEveryMs,
  );
  try {
    return await work();
  } finally {
    clearTimeout(first);
    clearInterval(ticking);
    if (shown && isTTY) process.stderr.write('\r\u001b[K');
  }
}
