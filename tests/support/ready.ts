import { logLine } from './log-lines.ts';

/**
 * The URL of a service that was started as a process, once its log says that it is ready. Earlier releases,
 * which tests and benchmarks start too, have other names in their lines.
 */
export function readyUrl(output: string): string | undefined {
  const line = output.split('\n').find((text) => text.startsWith('{') && /"(body|msg)":"ready"}$/.test(text));
  if (line === undefined) return undefined;
  const { attributes, url } = logLine(line) as ReturnType<typeof logLine> & { url?: string };
  return (attributes['url.full'] ?? url) as string;
}
