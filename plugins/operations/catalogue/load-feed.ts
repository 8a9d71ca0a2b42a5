/**
 * Gets the text of a price feed from a file or an address that the operator names. Size, time and redirects
 * are limited, and a redirect never leaves HTTPS. With a public key the feed needs a signature: Ed25519 over
 * its bytes, in base64, at the same place with `.sig` behind its name.
 */
import { createPublicKey, verify, type KeyObject } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { z } from 'zod';
import { readLimited } from '../../shared/read-limited.ts';

const mostBytes = 16 * 1024 * 1024;
const mostSignature = 1024;
const mostRedirects = 3;
const longestLoad = 30_000;

function readKey(text: string): KeyObject | undefined {
  try {
    const key = text.includes('-----BEGIN')
      ? createPublicKey(text)
      : createPublicKey({ key: Buffer.from(text, 'base64'), format: 'der', type: 'spki' });
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    return undefined;
  }
}

/** An Ed25519 public key: PEM, or its DER in base64. */
export const publicKeySchema = z.string().transform((text, context) => {
  const key = readKey(text);
  if (key) return key;
  context.addIssue({ code: 'custom', message: 'must be an Ed25519 public key, as PEM or as DER in base64' });
  return z.NEVER;
});

function isAddress(source: string): boolean {
  return /^https?:\/\//i.test(source);
}

/** The location of a feed without secrets: an address can hold a password or a token. */
export function formatSource(source: string): string {
  if (!isAddress(source)) return source;
  const { origin, pathname } = new URL(source);
  return origin + pathname;
}

async function followRedirects(source: string, signal: AbortSignal): Promise<Response> {
  let address = new URL(source);
  for (let left = mostRedirects; ; left -= 1) {
    const response = await fetch(address, { redirect: 'manual', signal });
    const location = response.headers.get('location');
    if (response.status < 300 || response.status >= 400 || location === null) return response;
    await response.body?.cancel();
    if (left === 0) throw new Error(`it redirects more than ${mostRedirects} times`);
    const next = new URL(location, address);
    if (next.protocol !== 'https:' && next.protocol !== address.protocol)
      throw new Error('it redirects to an address that is not HTTPS');
    address = next;
  }
}

async function download(source: string, most: number): Promise<Buffer> {
  const signal = AbortSignal.timeout(longestLoad);
  const response = await followRedirects(source, signal);
  if (!response.ok || !response.body) {
    await response.body?.cancel();
    throw new Error(`it answers ${response.status}`);
  }
  return readLimited(response.body, most);
}

function toSignatureSource(source: string): string {
  if (!isAddress(source)) return `${source}.sig`;
  const address = new URL(source);
  address.pathname += '.sig';
  return address.href;
}

function read(source: string, most: number): Promise<Buffer> {
  return isAddress(source) ? download(source, most) : readLimited(createReadStream(source), most);
}

async function readSignature(source: string): Promise<Buffer> {
  try {
    return Buffer.from((await read(source, mostSignature)).toString(), 'base64');
  } catch (error) {
    throw new Error(`its signature, ${formatSource(source)}: ${describeFailure(error)}`, { cause: error });
  }
}

/** Why a location could not be read. `fetch` throws a TypeError whose cause has the reason. */
function describeFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return (error instanceof TypeError && error.cause instanceof Error ? error.cause : error).message;
}

/** The text of a feed, and its location without secrets. An error names the location and the reason. */
export async function loadFeed(source: string, publicKey?: KeyObject) {
  const name = formatSource(source);
  try {
    const bytes = await read(source, mostBytes);
    if (publicKey && !verify(null, bytes, publicKey, await readSignature(toSignatureSource(source))))
      throw new Error('its signature does not fit');
    return { name, text: bytes.toString() };
  } catch (error) {
    throw new Error(`the price feed ${name} cannot be read: ${describeFailure(error)}`, { cause: error });
  }
}
