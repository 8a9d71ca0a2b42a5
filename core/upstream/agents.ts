/**
 * Kept connections to providers, directly or through the network's proxy, which the usual variables name:
 * `HTTPS_PROXY` (else `HTTP_PROXY`), `HTTP_PROXY` and `NO_PROXY`, in either case. Loopback addresses are
 * always called directly. A proxy's URL may hold a password, so no message shows it.
 */
import { lookup } from 'node:dns';
import { Agent as HttpAgent, setGlobalProxyFromEnv, type Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import { ConfigError } from '../util/errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** The lower-case name wins, as in curl. */
function readVariable(environment: Environment, name: string): string {
  return (environment[name.toLowerCase()] ?? environment[name] ?? '').trim();
}

/** Throws a `ConfigError` that names the variable. */
function readProxy(environment: Environment, name: string): string | undefined {
  const value = readVariable(environment, name);
  if (value === '') return undefined;
  const text = value.includes('://') ? value : `http://${value}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.hostname !== '') return url.href;
  throw new ConfigError(`${name} has to be the URL of an HTTP proxy: http://user:password@host:3128`);
}

/** One entry of `NO_PROXY`: a name with all below it, an address, or a range, perhaps with a port. */
interface Exception {
  readonly matches: (host: string) => boolean;
  readonly port: string | undefined;
}

function parseAddress(host: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  return isIP(host) === 0 ? undefined : ipaddr.process(host);
}

function isInRange(host: string, range: [ipaddr.IPv4 | ipaddr.IPv6, number]): boolean {
  const address = parseAddress(host);
  return address !== undefined && address.kind() === range[0].kind() && address.match(range);
}

function readException(entry: string): Exception {
  if (ipaddr.isValidCIDR(entry)) {
    const range = ipaddr.parseCIDR(entry);
    return { matches: (host) => isInRange(host, range), port: undefined };
  }
  const [, bracketed, plain, port] =
    (isIP(entry) === 0 && /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/.exec(entry)) || [];
  const name = (bracketed ?? plain ?? entry)
    .toLowerCase()
    .replace(/^\*?\./, '')
    .replace(/\.$/, '');
  const address = parseAddress(name)?.toString();
  const matches = (host: string): boolean =>
    name === '*' ||
    (address === undefined
      ? host === name || host.endsWith(`.${name}`)
      : parseAddress(host)?.toString() === address);
  return { matches, port };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || parseAddress(host)?.range() === 'loopback';
}

const loopbacks = 'localhost,127.0.0.1,::1';

/**
 * Makes a function that returns the URL of the proxy for a target; undefined: it is called directly. Throws a
 * `ConfigError` that names the variable that is wrong.
 */
export function createProxyFinder(
  environment: Environment = process.env,
): (target: URL) => string | undefined {
  const plain = readProxy(environment, 'HTTP_PROXY');
  const secure = readProxy(environment, 'HTTPS_PROXY') ?? plain;
  const entries = readVariable(environment, 'NO_PROXY').split(/[\s,]+/);
  const exceptions = entries.filter((entry) => entry !== '').map(readException);
  return ({ protocol, hostname, port }) => {
    const isSecure = protocol === 'https:';
    const host = hostname
      .toLowerCase()
      .replace(/^\[(.+)\]$/, '$1')
      .replace(/\.$/, '');
    if (isLoopback(host)) return undefined;
    const called = port || (isSecure ? '443' : '80');
    const isException = exceptions.some(
      (exception) => (exception.port ?? called) === called && exception.matches(host),
    );
    if (isException) return undefined;
    return isSecure ? secure : plain;
  };
}

/**
 * Makes `fetch` of this process take the same way: model lists, price feeds, webhooks. Node knows no ranges
 * of addresses in `NO_PROXY`.
 */
export function useOutgoingProxies(): void {
  const { env } = process;
  const [http_proxy, https_proxy] = [readProxy(env, 'HTTP_PROXY'), readProxy(env, 'HTTPS_PROXY')];
  if (!http_proxy && !https_proxy) return;
  setGlobalProxyFromEnv({
    ...(http_proxy && { http_proxy }),
    ...(https_proxy && { https_proxy }),
    no_proxy: `${loopbacks},${readVariable(env, 'NO_PROXY')}`,
  });
}

/** Milliseconds for which an idle connection to a provider is kept. */
const longestIdle = 30_000;

/** Bytes of a reply that wait for a slow client until the provider has to wait. Node's default is 64 KiB. */
const highWaterMark = 16 * 1024;

export type Agents = ReturnType<typeof openAgents>;

/** Throws a `ConfigError` that names the variable that is wrong. */
export function openAgents() {
  const findProxy = createProxyFinder();
  const agents = new Map<string, Agent>();
  const lookup = shareLookups();
  const open = (protocol: string, proxy: string | undefined): Agent => {
    const proxyEnv = proxy === undefined ? {} : { proxyEnv: { http_proxy: proxy, https_proxy: proxy } };
    const options = { keepAlive: true, timeout: longestIdle, lookup, highWaterMark, ...proxyEnv };
    return protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(options);
  };
  return {
    find(target: URL): Agent {
      let agent = agents.get(target.origin);
      if (!agent) agents.set(target.origin, (agent = open(target.protocol, findProxy(target))));
      return agent;
    },
    close(): void {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}

type Callback = Parameters<LookupFunction>[2];

/** Milliseconds that a lookup may take before the last answer is used, and how old that answer may be. */
const patience = 500;
const longestUse = 60 * 60 * 1000;

/**
 * Looks up the addresses of providers. Node looks up two names at a time, and a name server that does not
 * answer holds one of the two up for about ten seconds. Two such names would hold up new connections to all
 * providers. Node's own client for name servers has no such limit, but it does not read the hosts file and
 * other sources of the system, whose names operators use.
 *
 * Returns a lookup that all connections share which wait for the same name. If it takes long, they get its
 * last answer. Only a name that has none waits for those before it.
 */
export function shareLookups(look: LookupFunction = lookup): LookupFunction {
  const waiting = new Map<string, Callback[]>();
  const lastAnswers = new Map<string, { readonly answer: Parameters<Callback>; readonly at: number }>();
  return (hostname, options, callback) => {
    const question = JSON.stringify([hostname, options]);
    const last = lastAnswers.get(question);
    const isUsable = last && performance.now() - last.at < longestUse;
    const timer = isUsable ? setTimeout(() => answer(...last.answer), patience).unref() : undefined;
    let isAnswered = false;
    const answer: Callback = (...found) => {
      clearTimeout(timer);
      if (!isAnswered) callback(...found);
      isAnswered = true;
    };
    const others = waiting.get(question);
    if (others) return void others.push(answer);
    const all = [answer];
    waiting.set(question, all);
    look(hostname, options, (...found) => {
      const [error] = found;
      waiting.delete(question);
      if (!error) lastAnswers.set(question, { answer: found, at: performance.now() });
      for (const each of all) each(...found);
    });
  };
}
