/**
 * JSON texts of objects that never change. The object of an event is often the answer to its request, too, and an order
 * takes longer to write as JSON than everything else about its answer.
 */
const kept = new WeakMap<object, string>();

export function keepJsonText(object: object): void {
  if (!kept.has(object)) kept.set(object, JSON.stringify(object));
}

export function jsonText(value: unknown): string {
  const text = typeof value === 'object' && value !== null ? kept.get(value) : undefined;
  return text ?? JSON.stringify(value);
}
