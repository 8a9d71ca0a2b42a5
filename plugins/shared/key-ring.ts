/**
 * Seals data so that only gateways with the same key can open it: what clients keep for the gateway, and what
 * a database stores. The key comes from `TOLLGATE_DATA_KEY`, or from a file in the data folder that the first
 * start makes. Several keys are for rotation: the first one seals, and all of them open.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { allowReference, readEnvironment, type Host } from '../../core/index.ts';
import { readPrivateFile } from './private-file.ts';

const variable = 'TOLLGATE_DATA_KEY';
const fileName = 'data-key';
const keyLength = 32;
const keyForm = /^[\w+/-]{43}=?$/;
const howToMake = 'what `openssl rand -base64 32` prints';
const form = `has to hold ${howToMake}; commas or spaces separate several keys, of which the first one seals`;

/** Undefined if a word is no key. */
function parseKeys(text: string): readonly Buffer[] | undefined {
  const words = text.split(/[\s,]+/).filter((word) => word !== '');
  if (words.length === 0 || !words.every((word) => keyForm.test(word))) return undefined;
  return words.map((word) => Buffer.from(word, 'base64'));
}

const plainSchema = z.string().refine((text) => parseKeys(text) !== undefined, form);

/** One or more keys in base64, or a reference to them, instead of the file. */
export const dataKeySchema = allowReference(plainSchema);

/** Begins all sealed data, and so all sealed texts: three bytes are four characters. */
const mark = Buffer.from('tg1');
const textMark = mark.toString('base64url');
const idLength = 8;
const saltLength = 24;
const tagLength = 16;
const headLength = mark.length + idLength + saltLength;
const cipher = 'aes-256-gcm';
const ivLength = 12;

interface Key {
  readonly bytes: Buffer;
  readonly id: Buffer;
}

function deriveBytes(key: Buffer, salt: Uint8Array, use: string, length: number): Buffer {
  return Buffer.from(hkdfSync('sha256', key, salt, `tollgate ${use}`, length));
}

/**
 * Each sealed text has a key and a nonce of its own, derived from the ring's key and a salt. So one key may
 * seal any number of texts.
 */
function deriveCipherKey({ bytes }: Key, salt: Uint8Array): readonly [key: Buffer, iv: Buffer] {
  const derived = deriveBytes(bytes, salt, 'seal', keyLength + ivLength);
  return [derived.subarray(0, keyLength), derived.subarray(keyLength)];
}

/** What the data is for and whose it is. It opens for the same purpose and account only. */
function encodeContext(purpose: string, account: string): Buffer {
  return Buffer.from(JSON.stringify([purpose, account]));
}

/** Whether a text has the form of a sealed one, of this gateway or of another. */
export function isSealedText(text: string): boolean {
  return text.startsWith(textMark);
}

export class KeyRing {
  readonly #sealing: Key;
  readonly #keys: readonly Key[];

  /** The first key seals, and all open. */
  constructor(keys: readonly Buffer[]) {
    this.#keys = keys.map((bytes) => ({
      bytes,
      id: deriveBytes(bytes, Buffer.alloc(0), 'key id', idLength),
    }));
    const [first] = this.#keys;
    if (!first) throw new Error('a key ring needs a key');
    this.#sealing = first;
  }

  seal(purpose: string, account: string, data: Uint8Array): Buffer {
    const salt = randomBytes(saltLength);
    const sealing = createCipheriv(cipher, ...deriveCipherKey(this.#sealing, salt));
    sealing.setAAD(encodeContext(purpose, account));
    const hidden = [sealing.update(data), sealing.final()];
    return Buffer.concat([mark, this.#sealing.id, salt, sealing.getAuthTag(), ...hidden]);
  }

  /** Undefined if no key of the ring sealed it for this purpose and account, or if it was changed. */
  open(purpose: string, account: string, sealed: Uint8Array): Buffer | undefined {
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
    if (bytes.length < headLength + tagLength || !bytes.subarray(0, mark.length).equals(mark))
      return undefined;
    const id = bytes.subarray(mark.length, mark.length + idLength);
    const key = this.#keys.find((each) => each.id.equals(id));
    if (!key) return undefined;
    const salt = bytes.subarray(mark.length + idLength, headLength);
    const opening = createDecipheriv(cipher, ...deriveCipherKey(key, salt), { authTagLength: tagLength });
    opening.setAAD(encodeContext(purpose, account));
    opening.setAuthTag(bytes.subarray(headLength, headLength + tagLength));
    const data = opening.update(bytes.subarray(headLength + tagLength));
    try {
      return Buffer.concat([data, opening.final()]);
    } catch {
      return undefined;
    }
  }

  /** Seals as a text for URLs and JSON. */
  sealText(purpose: string, account: string, data: Uint8Array): string {
    return this.seal(purpose, account, data).toString('base64url');
  }

  openText(purpose: string, account: string, text: string): Buffer | undefined {
    return isSealedText(text) ? this.open(purpose, account, Buffer.from(text, 'base64url')) : undefined;
  }
}

/**
 * Returns the function that gets the ring, which exists from `ready` on. `given` is the plugin's option. A
 * ledger that several machines share needs a given key, because a file is on one machine: without one the
 * configuration is refused.
 */
export function useKeyRing(
  host: Pick<Host, 'hooks' | 'tables' | 'dataFolder' | 'onApplied' | 'openSecret' | 'watchFile'>,
  name: string,
  given = readEnvironment(variable, dataKeySchema),
): () => KeyRing {
  const stated = given === undefined ? undefined : host.openSecret(given, plainSchema);
  if (stated?.file !== undefined) host.watchFile(stated.file);
  let ring: KeyRing | undefined;
  host.onApplied(() => {
    if (stated || host.tables.find('ledger')?.isShared !== true) return;
    throw new Error(
      'several gateways can share this ledger, and all of them need one key for what they seal: ' +
        `set ${variable} to ${howToMake}, the same for each gateway`,
    );
  });
  // The ledger opens first: it says best what is wrong with a data folder.
  host.hooks.ready.tapPromise({ name, stage: 1 }, async () => {
    const keys = stated ? parseKeys((await stated.read()).join(' ')) : undefined;
    ring = new KeyRing(keys ?? readKeyFile(join(host.dataFolder, fileName)));
  });
  return () => {
    if (!ring) throw new Error('the key ring is not open yet');
    return ring;
  };
}

/** The file holds one key a line. A line that is added before the others rotates the key. */
function readKeyFile(file: string): readonly Buffer[] {
  const text = readPrivateFile(
    file,
    () => randomBytes(keyLength).toString('base64'),
    (found) => (parseKeys(found) ? undefined : form),
  );
  return parseKeys(text) ?? [];
}
