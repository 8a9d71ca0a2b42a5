/**
 * Sessions of signed-in operators. The cookie holds the operator's secret, encrypted with a key that only
 * this gateway has, so each request is checked like one that sends the secret itself: a key that is
 * disabled or expires ends its sessions within a second, in every worker. Only sessions that were ended
 * early are listed, in a file next to the key: each process that can decrypt a cookie sees there whether
 * the session was ended.
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { appendFileSync, readFileSync, statSync } from 'node:fs';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { fileMode } from '../../../core/index.ts';
import { limitEntries } from '../../shared/up-to.ts';

const algorithm = 'aes-256-gcm';
export const keyBytes = 32;
const ivBytes = 12;
const tagBytes = 16;
/** Characters of a cookie that is still worth decrypting. */
const longestCookie = 2048;

const sessionSchema = z.object({
  id: z.string(),
  /** The operator secret or key that was sent to sign in. */
  secret: z.string(),
  /** Milliseconds since the epoch. */
  expires: z.number(),
});

export type Session = z.output<typeof sessionSchema>;

export type Sessions = ReturnType<typeof createSessions>;

interface SessionOptions {
  readonly key: Buffer;
  /** Milliseconds until a session ends by itself. */
  readonly duration: number;
  /** The file that lists sessions which were ended early. */
  readonly endedFile: string;
}

const mostEnded = 10_000;

export function createSessions({ key, duration, endedFile }: SessionOptions) {
  /** Ids of sessions that were ended before they expired. */
  const ended = new LRUCache<string, true>({ ...limitEntries(mostEnded), ttl: duration });
  let sizeRead = 0;

  /** The size of the file tells whether another process added to it. */
  function readEnded(): void {
    const size = statSync(endedFile, { throwIfNoEntry: false })?.size ?? 0;
    if (size === sizeRead) return;
    const listed = readFileSync(endedFile, 'utf8').trim().split('\n');
    for (const id of listed.slice(-mostEnded)) ended.set(id, true);
    sizeRead = size;
  }

  function decrypt(sealed: string): Session | undefined {
    try {
      const bytes = Buffer.from(sealed, 'base64url');
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(0, ivBytes), {
        authTagLength: tagBytes,
      });
      decipher.setAuthTag(bytes.subarray(-tagBytes));
      const text = decipher.update(bytes.subarray(ivBytes, -tagBytes));
      return sessionSchema.parse(JSON.parse(Buffer.concat([text, decipher.final()]).toString()));
    } catch {
      return undefined;
    }
  }

  return {
    /** Starts a session and returns it with its cookie value. */
    start(secret: string): { readonly session: Session; readonly sealed: string } {
      const session = { id: randomBytes(16).toString('hex'), secret, expires: Date.now() + duration };
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv(algorithm, key, iv, { authTagLength: tagBytes });
      const text = Buffer.concat([cipher.update(JSON.stringify(session)), cipher.final()]);
      return { session, sealed: Buffer.concat([iv, text, cipher.getAuthTag()]).toString('base64url') };
    },
    /** Reads a cookie value. Undefined if it is not ours, has expired, or its operator has signed out. */
    read(sealed: string): Session | undefined {
      if (sealed.length > longestCookie) return undefined;
      const session = decrypt(sealed);
      if (!session || session.expires <= Date.now()) return undefined;
      readEnded();
      return ended.has(session.id) ? undefined : session;
    },
    /** Ends a session: its cookie is refused from now on. */
    end(id: string): void {
      ended.set(id, true);
      appendFileSync(endedFile, `${id}\n`, { mode: fileMode });
    },
  };
}
