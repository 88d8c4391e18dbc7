import { common } from '../texts/common.ts';
import { JsonView } from './json-view.tsx';
import { Panel } from './page.tsx';

export function Metadata({ metadata }: { metadata: Record<string, unknown> }) {
  if (Object.keys(metadata).length === 0) return null;
  return (
    <Panel title={common.metadata}>
      <JsonView value={metadata} label={common.metadata} />
    </Panel>
  );
}

/** Parses a metadata field. Undefined if it is not a JSON object. */
export function metadataOf(text: string): Record<string, unknown> | undefined {
  if (text.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === 'object' && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

export const metadataText = (metadata: Record<string, unknown>): string =>
  Object.keys(metadata).length === 0 ? '' : JSON.stringify(metadata, null, 2);

export const metadataProblem = (text: string): string | undefined =>
  metadataOf(text) === undefined ? common.invalidJson : undefined;
