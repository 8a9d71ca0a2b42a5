/**
 * Fetches one picture from an address that a stranger chose: within limits of time, size and redirects, only
 * from hosts that may be reached, and without telling who asks or for whom. A name is resolved once, and all
 * its addresses are checked. The connection then goes to a checked address, so it does not help an attacker
 * if the name means another machine a moment later.
 */
import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import * as http from 'node:http';
import * as https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import { isGatewayError } from '../../../core/index.ts';
import { detectPictureType } from '../../shared/wire-kit/media.ts';

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
    const addresses = await raceAbort(reach(url.hostname), signal);
    // An unknown name gets the same error as a forbidden one, so that no caller can learn which exist.
    if (addresses.length === 0) throw new Unfetched('is at a host that this gateway does not fetch from');
    const reply = await ask(url, addresses, signal);
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

/** Azure's machines read their secrets at this address, which looks public. */
const hidden = '168.63.129.16';

/** All IPv6 addresses that are in public use. Others can contain an IPv4 address. */
const givenOut = ipaddr.parseCIDR('2000::/3');

/**
 * Whether an address means the same host for everybody in the world, so that it is not one of our own
 * network.
 */
export function isPublic(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.kind() === 'ipv6' && !parsed.match(givenOut)) return false;
  const own = Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.map((each) => ipaddr.parse(each.address).toString()),
  );
  return parsed.range() === 'unicast' && parsed.toString() !== hidden && !own.includes(parsed.toString());
}

/**
 * Asks name servers itself: Node's own look-up has four threads for the whole process, and slow name servers
 * could occupy them.
 */
const names = new Resolver({ timeout: 2000, tries: 2 });

async function resolvePublic(host: string): Promise<readonly LookupAddress[]> {
  const [four, six] = await Promise.all([
    names.resolve4(host).catch(() => []),
    names.resolve6(host).catch(() => []),
  ]);
  return [
    ...four.map((address) => ({ address, family: 4 })),
    ...six.map((address) => ({ address, family: 6 })),
  ];
}

/** Uses the system's look-up, since names of your own may be in the machine's hosts file. */
function resolvePrivate(host: string): Promise<readonly LookupAddress[]> {
  return lookup(host, { all: true }).catch(() => []);
}

/** Gives the addresses that a connection to a host may use; none if it must not be reached. */
export type Reach = (host: string) => Promise<readonly LookupAddress[]>;

/** `hosts` are the only ones allowed, if given; `privateHosts` may have any address. */
export function createReach(
  hosts: readonly string[] | undefined,
  privateHosts: readonly string[],
  resolve = resolvePublic,
  fits = isPublic,
): Reach {
  return async (host) => {
    const bare = host.replace(/^\[|\]$/g, '');
    const isOwn = privateHosts.includes(bare);
    if (!isOwn && hosts && !hosts.some((pattern) => isMeant(pattern, bare))) return [];
    const family = isIP(bare);
    const found = family === 0 ? await (isOwn ? resolvePrivate : resolve)(bare) : [{ address: bare, family }];
    // One address that is not allowed is enough to refuse: an honest name has none.
    return isOwn || found.every(({ address }) => fits(address)) ? found : [];
  };
}

/** `*.example.com` matches every name below it. */
function isMeant(pattern: string, host: string): boolean {
  return pattern.startsWith('*.') ? host.endsWith(pattern.slice(1)) : host === pattern;
}
