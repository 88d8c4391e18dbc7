/** Says that something still goes on, on the error output: results stay alone on the other. */

const quietMs = 2_000;
const everyMs = 1_000;
/** Where nobody watches, a line now and then is enough. */
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
