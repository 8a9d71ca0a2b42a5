/**
 * A key's secret is `sk-`, 36 random characters (214 bits) and a checksum of both, so that junk is refused before
 * anything is read. Only letters and digits: it survives URLs, shells and a double click. The ledger keeps its
 * SHA-256, enough for a secret this random; other prefixes are kept free for operator keys.
 */
import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Store } from './store.ts';

const prefix = 'sk-';
const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomLength = 36;
const checksumLength = 6;
const shape = new RegExp(`^${prefix}[0-9A-Za-z]{${randomLength + checksumLength}}$`);
const idLength = 16;

function checksum(text: string): string {
  let rest = crc32(text);
  let digits = '';
  for (let place = 0; place < checksumLength; place += 1) {
    digits = alphabet.charAt(rest % alphabet.length) + digits;
    rest = Math.floor(rest / alphabet.length);
  }
  return digits;
}

export function createSecret(): string {
  const random = Array.from({ length: randomLength }, () => alphabet.charAt(randomInt(alphabet.length))).join('');
  return prefix + random + checksum(prefix + random);
}

/** Whether a text can be a secret of ours at all. */
export function isSecret(text: string): boolean {
  return shape.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength);
}

export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex');
}

/** What a key is called where it is shown: the start of its hash. */
export function keyId(keyHash: string): string {
  return keyHash.slice(0, idLength);
}

/** Makes a key of an account that is there; the answer is all there will ever be of its secret. */
export async function issueKey(store: Store, key: { readonly account: string; readonly name: string }): Promise<{ secret: string; id: string }> {
  const secret = createSecret();
  const keyHash = hashSecret(secret);
  const isMade = await store.createKey({ ...key, hash: keyHash, lastFour: secret.slice(-4), at: Date.now() });
  if (!isMade) throw new Error(`there is no account "${key.account}" to make a key for`);
  return { secret, id: keyId(keyHash) };
}
