/**
 * Fetches one picture from an address of a stranger's choosing: within a time, a size and a number of redirects, from
 * machines that may be reached, without a word of who asks or for whom. What comes is a picture by its bytes, or refused.
 */
import type { LookupAddress } from 'node:dns';
import * as http from 'node:http';
import * as https from 'node:https';
import type { LookupFunction } from 'node:net';
import { isGatewayError } from '../../../core/index.ts';
import { pictureType } from '../../shared/picture-type.ts';
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

/** Why a picture was not fetched, in words that go on after `The picture`. */
export class Unfetched extends Error {}

const redirects = new Set([301, 302, 303, 307, 308]);
/** Bytes by which a picture is known. */
const beginning = 16;
const usualPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/** `took` is passed the bytes of each piece, and throws where they are more than may be held. */
export async function fetchPicture(address: string, limits: Limits, reach: Reach, signal: AbortSignal, took: (bytes: number) => void): Promise<Picture> {
  let url = checked(address, undefined, limits);
  for (let left = limits.maxRedirects; ; left -= 1) {
    const reply = await ask(url, await addressesOf(url, reach, signal), signal);
    const { statusCode = 0, headers } = reply;
    if (!redirects.has(statusCode) || headers.location === undefined) return read(reply, limits, signal, took);
    reply.destroy();
    if (left <= 0) throw new Unfetched('is behind more redirects than are followed');
    url = checked(headers.location, url, limits);
  }
}

/** Of a redirect, `from` is where it was found. */
function checked(address: string, from: URL | undefined, limits: Limits): URL {
  const url = URL.parse(address, from?.href);
  if (!url || !(url.protocol === 'https:' || (url.protocol === 'http:' && limits.http))) throw new Unfetched(`has to be at an address that begins with https://${limits.http ? ' or http://' : ''}`);
  if (from && url.protocol !== from.protocol) throw new Unfetched('is behind a redirect from one scheme to another');
  if (url.username || url.password) throw new Unfetched('must not be asked for with a name or a password in its address');
  if (!limits.ports.includes(url.port === '' ? (usualPorts[url.protocol] ?? 0) : Number(url.port))) throw new Unfetched(`has to be at one of the ports ${limits.ports.join(', ')}`);
  return url;
}

/** That a name is unknown is told like that it is not to be reached: what names there are inside is nobody's to try. */
async function addressesOf({ hostname }: URL, reach: Reach, signal: AbortSignal): Promise<readonly LookupAddress[]> {
  const found = await orAborted(reach.addresses(hostname), signal);
  if (found.length === 0) throw new Unfetched('is at a host that this gateway does not fetch from');
  return found;
}

function ask(url: URL, addresses: readonly LookupAddress[], signal: AbortSignal): Promise<http.IncomingMessage> {
  const known: LookupFunction = (_, { all }, answer) => {
    const [first] = addresses;
    if (all) answer(null, [...addresses]);
    else answer(null, first?.address ?? '', first?.family);
  };
  const { request } = url.protocol === 'https:' ? https : http;
  const headers = { accept: 'image/*', 'accept-encoding': 'identity', 'user-agent': 'tollgate' };
  return new Promise((resolve, reject) => {
    // An agent of its own: the process's may have been given a proxy, which would do the looking up itself.
    request(url, { agent: false, lookup: known, signal, headers })
      .on('response', resolve)
      .on('error', (error) => reject(signal.aborted ? error : new Unfetched('could not be had: its server cannot be reached, or breaks off')))
      .end();
  });
}

async function read(reply: http.IncomingMessage, { maxBytes, types }: Limits, signal: AbortSignal, took: (bytes: number) => void): Promise<Picture> {
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
      took(chunk.length);
      chunks.push(chunk);
      const known = length < beginning && length + chunk.length >= beginning;
      length += chunk.length;
      if (length > maxBytes) throw tooLong;
      if (known) typeOf(Buffer.concat(chunks), types);
    }
  } catch (error) {
    if (error instanceof Unfetched || isGatewayError(error) || signal.aborted) throw error;
    throw new Unfetched('could not be had: its server breaks off', { cause: error });
  } finally {
    reply.destroy();
  }
  const bytes = Buffer.concat(chunks);
  return { mediaType: typeOf(bytes, types), data: bytes.toString('base64') };
}

function typeOf(bytes: Buffer, types: readonly string[]): string {
  const type = pictureType(bytes);
  if (type !== undefined && types.includes(type)) return type;
  throw new Unfetched(`is none of the pictures that are taken: ${types.join(', ')}`);
}

/** Whatever comes first; what is given up goes on by itself, and nobody waits for it. */
export function orAborted<Result>(working: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const aborted = (): void => reject(signal.reason);
  if (signal.aborted) aborted();
  signal.addEventListener('abort', aborted, { once: true });
  return Promise.race([working, promise]).finally(() => signal.removeEventListener('abort', aborted));
}
