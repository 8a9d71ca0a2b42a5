/**
 * Fetches one picture from an address that a stranger chose: within limits of time, size and redirects, only
 * from hosts that may be reached, and without telling who asks or for whom. What does not begin like a
 * picture is refused.
 */
import type { LookupAddress } from 'node:dns';
import * as http from 'node:http';
import * as https from 'node:https';
import type { LookupFunction } from 'node:net';
import { isGatewayError } from '../../../core/index.ts';
import { detectPictureType } from '../../shared/wire-kit/media.ts';
import type { Reach } from './reach.ts';

export interface Limits {
  readonly http: boolean;
  readonly ports: readonly number[];
  readonly maxBytes: number;
  readonly maxRedirects: number;
  readonly types: readonly string[];
}

export interface Picture {
  /** Base64. */
  readonly data: string;
  readonly mediaType: string;
}

/** Why a picture was not fetched; the text follows `The picture`. */
export class Unfetched extends Error {}

const redirects = new Set([301, 302, 303, 307, 308]);
/** How many bytes are needed to recognise a picture. */
const beginning = 16;
const usualPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

interface Fetching {
  readonly signal: AbortSignal;
  /** Is called with the size of each piece that arrives, and throws if that exceeds the limit. */
  readonly onBytes: (bytes: number) => void;
}

export async function fetchPicture(
  address: string,
  limits: Limits,
  reach: Reach,
  fetching: Fetching,
): Promise<Picture> {
  const { signal } = fetching;
  let url = checkAddress(address, undefined, limits);
  for (let left = limits.maxRedirects; ; left -= 1) {
    const reply = await ask(url, await requireAddresses(url, reach, signal), signal);
    const { statusCode = 0, headers } = reply;
    if (!redirects.has(statusCode) || headers.location === undefined)
      return readPicture(reply, limits, fetching);
    reply.destroy();
    if (left <= 0) throw new Unfetched('is behind more redirects than are followed');
    url = checkAddress(headers.location, url, limits);
  }
}

/** Checks an address. For a redirect, `from` is the address that led there. */
function checkAddress(address: string, from: URL | undefined, limits: Limits): URL {
  const url = URL.parse(address, from?.href);
  const schemes = limits.http ? ['https://', 'http://'] : ['https://'];
  if (!url || !schemes.includes(`${url.protocol}//`))
    throw new Unfetched(`has to be at an address that begins with ${schemes.join(' or ')}`);
  if (from && url.protocol !== from.protocol)
    throw new Unfetched('is behind a redirect from one scheme to another');
  if (url.username || url.password)
    throw new Unfetched('must not be asked for with a name or a password in its address');
  const port = url.port === '' ? (usualPorts[url.protocol] ?? 0) : Number(url.port);
  if (!limits.ports.includes(port))
    throw new Unfetched(`has to be at one of the ports ${limits.ports.join(', ')}`);
  return url;
}

/**
 * The addresses of a host. An unknown name gets the same error as a forbidden one, so that no caller can
 * learn which internal names exist.
 */
async function requireAddresses(
  { hostname }: URL,
  reach: Reach,
  signal: AbortSignal,
): Promise<readonly LookupAddress[]> {
  const found = await raceAbort(reach.findAddresses(hostname), signal);
  if (found.length === 0) throw new Unfetched('is at a host that this gateway does not fetch from');
  return found;
}

function ask(
  url: URL,
  addresses: readonly LookupAddress[],
  signal: AbortSignal,
): Promise<http.IncomingMessage> {
  const answerLookup: LookupFunction = (_, { all }, answer) => {
    const [first] = addresses;
    if (all) answer(null, [...addresses]);
    else answer(null, first?.address ?? '', first?.family);
  };
  const { request } = url.protocol === 'https:' ? https : http;
  const headers = { accept: 'image/*', 'accept-encoding': 'identity', 'user-agent': 'tollgate' };
  return new Promise((resolve, reject) => {
    // Without the process's agent: that one may have a proxy, which would resolve the name itself.
    request(url, { agent: false, lookup: answerLookup, signal, headers })
      .on('response', resolve)
      .on('error', (error) =>
        reject(
          signal.aborted
            ? error
            : new Unfetched('could not be had: its server cannot be reached, or breaks off'),
        ),
      )
      .end();
  });
}

async function readPicture(
  reply: http.IncomingMessage,
  { maxBytes, types }: Limits,
  { signal, onBytes }: Fetching,
): Promise<Picture> {
  const tooLong = new Unfetched(`has more than the ${maxBytes} bytes that are taken`);
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    const { statusCode, headers } = reply;
    if (statusCode !== 200) throw new Unfetched(`could not be had: its server answers ${statusCode}`);
    if ((headers['content-encoding'] ?? 'identity') !== 'identity') throw new Unfetched('comes compressed');
    if (Number(headers['content-length'] ?? 0) > maxBytes) throw tooLong;
    for await (const chunk of reply) {
      if (!Buffer.isBuffer(chunk)) continue;
      onBytes(chunk.length);
      chunks.push(chunk);
      const known = length < beginning && length + chunk.length >= beginning;
      length += chunk.length;
      if (length > maxBytes) throw tooLong;
      if (known) requireType(Buffer.concat(chunks), types);
    }
  } catch (error) {
    if (error instanceof Unfetched || isGatewayError(error) || signal.aborted) throw error;
    throw new Unfetched('could not be had: its server breaks off', { cause: error });
  } finally {
    reply.destroy();
  }
  const bytes = Buffer.concat(chunks);
  return { mediaType: requireType(bytes, types), data: bytes.toString('base64') };
}

function requireType(bytes: Buffer, types: readonly string[]): string {
  const type = detectPictureType(bytes);
  if (type !== undefined && types.includes(type)) return type;
  throw new Unfetched(`is none of the pictures that are taken: ${types.join(', ')}`);
}

/**
 * Settles with the work or with the abort, whichever comes first. Aborted work continues, but nothing waits
 * for it.
 */
export function raceAbort<Result>(working: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  return Promise.race([working, promise]).finally(() => signal.removeEventListener('abort', onAbort));
}
