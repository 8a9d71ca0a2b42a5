/** Decodes a step of a JSON pointer. An invalid encoding stays as it is. */
function decodeStep(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return step;
  }
}

/**
 * The target of a `$ref` within a schema; undefined if there is none, or if it is outside the schema
 * (RFC 6901, section 6).
 */
export function resolvePointer(root: unknown, reference: string): unknown {
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  const steps = reference.slice(2).split('/').filter(Boolean);
  return steps.reduce<unknown>((value, step) => {
    const name = decodeStep(step);
    if (typeof value !== 'object' || value === null) return undefined;
    // Only the value's own members count, so that `constructor` leads nowhere.
    return Object.getOwnPropertyDescriptor(value, name)?.value;
  }, root);
}
