/**
 * The secrets that this gateway gives out: a prefix that says what one is for, 36 random characters (214
 * bits) and a checksum of both, so that junk is refused without reading the ledger. They only have letters
 * and digits, which survive URLs, shells and a double click. For a secret this random SHA-256 is a good
 * enough hash.
 */
import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * `sk-` keys call models and see their account, `gw-` keys are for the admin listener and spend nothing, and
 * with an `in-` someone gets their first key. The others are of people: of a browser's session, a device that
 * signs in, its calls and its renewals.
 */
const prefixes = {
  user: 'sk-',
  operator: 'gw-',
  invitation: 'in-',
  browser: 'gb-',
  device: 'gd-',
  access: 'ga-',
  refresh: 'gr-',
} as const;
export type SecretKind = keyof typeof prefixes;

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 36;
const checksumLength = 6;
const shape = new RegExp(`^[0-9A-Za-z]{${randomLength + checksumLength}}$`);

function computeChecksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let place = 0; place < checksumLength; place += 1) {
    digits = alphabet.charAt(rest % alphabet.length) + digits;
    rest = Math.floor(rest / alphabet.length);
  }
  return digits;
}

export function createSecret(kind: SecretKind = 'user'): string {
  const random = Array.from({ length: randomLength }, () => alphabet.charAt(randomInt(alphabet.length))).join(
    '',
  );
  return prefixes[kind] + random + computeChecksum(prefixes[kind] + random);
}

/** Whether a text has the form of our secrets of this kind. */
export function isSecret(text: string, kind: SecretKind = 'user'): boolean {
  const prefix = prefixes[kind];
  return (
    text.startsWith(prefix) &&
    shape.test(text.slice(prefix.length)) &&
    computeChecksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength)
  );
}

export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}
