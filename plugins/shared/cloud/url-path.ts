/** The only place that decides which characters a name in a provider's URL may have. */
import { GatewayError } from '../../../core/index.ts';

const safeSegment = /^[\w@~+.-]+$/;

/** A model's name as a path. Throws if a segment could lead elsewhere: `..`, `?`, `:method`. */
export function checkUrlPath(name: string): string {
  const isSafe = name.split('/').every((segment) => safeSegment.test(segment) && !/^\.+$/.test(segment));
  if (!isSafe)
    throw new GatewayError(
      'internal',
      `The model "${name.slice(0, 100)}" has a name that cannot be part of a URL.`,
    );
  return name;
}
