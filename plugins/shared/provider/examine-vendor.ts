/**
 * What `tollgate doctor` checks of every provider: whether it is reachable, accepts the key, and agrees with
 * our clock.
 */
import {
  getMessage,
  type Finding,
  type Host,
  type Provider,
  type UpstreamRequest,
} from '../../../core/index.ts';
import { fetchSigned } from './sign-with-key.ts';

/** A free request that shows whether the provider is up and accepts the key. */
export interface Probe {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether the path names nothing, so that a vendor that accepts the key answers 404. */
  readonly missing?: boolean | undefined;
  /** For a provider without a free GET: the body to POST, such as a token count. */
  readonly body?: string | undefined;
  /** The environment variable that usually holds the key. */
  readonly variable: string;
}

const patience = 10_000;
/**
 * Milliseconds by which our clock may be off. Above the first it is a note. Above the second providers reject
 * signatures.
 */
const noted = 5000;
const refused = 60_000;

/** The subject of clock findings. Every provider sends a `date` header; the doctor reports the worst. */
const clock = 'clock';

function checkClock(date: string | null, host: string, now: number): Finding[] {
  const theirs = Date.parse(date ?? '');
  if (Number.isNaN(theirs)) return [];
  const off = now - theirs;
  const message = `${Math.abs(off / 1000).toFixed(0)} s ${off > 0 ? 'ahead of' : 'behind'} ${host}`;
  if (Math.abs(off) <= noted) return [{ subject: clock, state: 'well', message: `agrees with ${host}` }];
  return [
    {
      subject: clock,
      state: Math.abs(off) > refused ? 'fault' : 'note',
      message,
      remedy: "set this machine's clock, or turn on NTP",
    },
  ];
}

/** What a status says of the provider: how bad it is, and what to do. */
function judgeStatus(status: number, variable: string): readonly [Finding['state'], string, string?] {
  if (status === 401 || status === 403) {
    const remedy = `check the key in ${variable}: it may be wrong, revoked, or not allowed to list models`;
    return ['fault', `does not accept the key (${status})`, remedy];
  }
  if (status >= 500)
    return ['fault', `answered ${status}`, 'the provider has a fault of its own: try again later'];
  if (status === 429)
    return ['note', 'is up, but limits calls right now (429)', "try again later, or raise the key's limit"];
  if (status < 300) return ['well', 'is up and accepts the key'];
  const unknownKey = 'whether it accepts the key is unknown';
  return ['note', `is up, but answered ${status} to the model list: ${unknownKey}`, 'check its address'];
}

/**
 * Checks whether a provider is reachable and accepts the key, and compares its clock with ours. The finding
 * never contains the key.
 */
export async function examineVendor(provider: Provider, probe: Probe): Promise<Finding[]> {
  const subject =
    provider.credential === undefined ? provider.name : `${provider.name}, key ${provider.credential}`;
  const { host } = new URL(probe.url);
  const request = buildRequest(probe);
  try {
    await provider.sign(request);
  } catch (error) {
    const message = `requests cannot be signed: ${getMessage(error)}`;
    return [{ subject, state: 'fault', message, remedy: `check ${probe.variable}` }];
  }
  return ask(provider, request, subject, { ...probe, host });
}

function buildRequest({ url, headers = {}, body }: Probe): UpstreamRequest {
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  return {
    method: body === undefined ? 'GET' : 'POST',
    url,
    headers: { accept: 'application/json', 'user-agent': 'tollgate', ...type, ...headers },
    body: body ?? '',
  };
}

/** The code of a system's error, which says enough, or the message of any other, at the root of `error`. */
function describeReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return describeReason(error.cause);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  return ('errno' in error && code) || error.message || code || error.name;
}

async function ask(
  provider: Provider,
  request: UpstreamRequest,
  subject: string,
  { variable, missing, host }: Probe & { readonly host: string },
): Promise<Finding[]> {
  try {
    const asked = Date.now();
    const limits = { redirect: 'manual', signal: AbortSignal.timeout(patience) } as const;
    const response = await fetchSigned(provider, request, limits);
    const now = (asked + Date.now()) / 2;
    await response.body?.cancel();
    const status = missing && response.status === 404 ? 200 : response.status;
    const [state, found, remedy] = judgeStatus(status, variable);
    return [
      { subject, state, message: `${host} ${found}`, ...(remedy === undefined ? {} : { remedy }) },
      ...checkClock(response.headers.get('date'), host, now),
    ];
  } catch (error) {
    return [
      {
        subject,
        state: 'fault',
        message: `${host} could not be reached: ${describeReason(error)}`,
        remedy: 'check its address, name resolution, and the firewall or proxy in between',
      },
    ];
  }
}

/** Adds a provider for one of its keys, which the doctor examines by the probe. */
export function addProvider(host: Host, provider: Provider, probe: Probe): void {
  const number = provider.credential ?? 1;
  if (number === 1) host.providers.add(provider);
  host.examinations.add({
    name: `${provider.name} ${number}`,
    examine: () => examineVendor(provider, probe),
  });
}
