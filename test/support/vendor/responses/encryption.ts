/**
 * Encrypted reasoning. It is made for one item, and accepted only for that item, or for one without an id.
 */
import type { Seals } from '../seal.ts';

const prefix = 'gAAAAAB';

export function encryptFor(id: string, seals: Seals): string {
  return prefix + seals.seal(`reasoning:${id}`, '', 'base64url');
}

/** Takes what came back and its item; returns why it is refused, or undefined. */
export function checkEncryption(
  content: string,
  id: string | null | undefined,
  seals: Seals,
): string | undefined {
  if (seals.vouches(content)) return undefined;
  const isHeld = (kind: string): boolean =>
    content.startsWith(prefix) && seals.holds(content.slice(prefix.length), kind, '', 'base64url');
  if (!isHeld('reasoning')) return 'Encrypted content could not be decrypted or parsed.';
  return id && !isHeld(`reasoning:${id}`)
    ? 'Encrypted content item_id did not match the target item id.'
    : undefined;
}
