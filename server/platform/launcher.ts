/** How often a process checks that the program that launched it still runs. */
const checkMs = 250;

/**
 * A signal that reaches only npm or npx ends them and the shell between, and not the program that they run: under npm,
 * losing the parent process counts as the signal.
 */
export function watchLauncher(onGone: () => void): void {
  if (!process.env.npm_lifecycle_event) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onGone();
  }, checkMs);
  timer.unref();
}
