/** The URL of a service that was started as a process, once its log says that it is ready. */
export function readyUrl(output: string): string | undefined {
  const line = output.split('\n').find((text) => text.startsWith('{') && text.endsWith('"msg":"ready"}'));
  return line === undefined ? undefined : (JSON.parse(line) as { url: string }).url;
}
