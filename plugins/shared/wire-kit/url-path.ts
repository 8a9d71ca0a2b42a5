/** Names that become part of a vendor's address. Only this file decides which characters they may have. */
import { GatewayError } from '../../../core/index.ts';

const safeSegment = /^[\w@~+.-]+$/;

/** A model's name as a path of one or more segments. Throws where a segment could lead to another address: `..`, `?`, `:method`. */
export function urlPath(name: string): string {
  const isSafe = name.split('/').every((segment) => safeSegment.test(segment) && !/^\.+$/.test(segment));
  if (!isSafe)
    throw new GatewayError(
      'internal',
      `The model "${name.slice(0, 100)}" has a name that cannot be part of an address.`,
    );
  return name;
}
