import { type Body, changesOf } from '../edits.ts';
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

/** A change keeps the keys that it does not name. To remove one, it is sent as null. */
export function metadataChange(changes: Body, { metadata: before }: Body): Body {
  if (!('metadata' in changes)) return changes;
  const after = changes.metadata as Record<string, unknown>;
  const removed = Object.keys(before as object).filter((name) => !(name in after));
  const changed = changesOf(before as Body, after);
  return { ...changes, metadata: { ...Object.fromEntries(removed.map((name) => [name, null])), ...changed } };
}

export const metadataText = (metadata: Record<string, unknown>): string =>
  Object.keys(metadata).length === 0 ? '' : JSON.stringify(metadata, null, 2);

export const metadataProblem = (text: string): string | undefined =>
  metadataOf(text) === undefined ? common.invalidJson : undefined;
