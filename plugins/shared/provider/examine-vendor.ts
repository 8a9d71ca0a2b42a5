/**
 * What `tollgate doctor` checks of every provider: whether it is reachable, accepts the key, and agrees with
 * our clock.
 */
import { getMessage, type Finding, type Provider, type UpstreamRequest } from '../../../core/index.ts';

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

function describeStatus(subject: string, host: string, status: number, variable: string): Finding {
  if (status === 401 || status === 403)
    return {
      subject,
      state: 'fault',
      message: `${host} does not accept the key (${status})`,
      remedy: `check the key in ${variable}: it may be wrong, revoked, or not allowed to list models`,
    };
  if (status >= 500)
    return {
      subject,
      state: 'fault',
      message: `${host} answered ${status}`,
      remedy: 'the provider has a fault of its own: try again later',
    };
  if (status === 429)
    return {
      subject,
      state: 'note',
      message: `${host} is up, but limits calls right now (429)`,
      remedy: "try again later, or raise the key's limit",
    };
  const unknownKey = 'whether it accepts the key is unknown';
  if (status >= 300)
    return {
      subject,
      state: 'note',
      message: `${host} is up, but answered ${status} to the model list: ${unknownKey}`,
      remedy: 'check its address',
    };
  return { subject, state: 'well', message: `${host} is up and accepts the key` };
}

/**
 * Checks whether a provider is reachable and accepts the key, and compares its clock with ours. The finding
 * never contains the key.
 */
export async function examineVendor(provider: Provider, probe: Probe): Promise<Finding[]> {
  const subject =
    provider.credential === undefined ? provider.name : `${provider.name}, key ${provider.credential}`;
  const { host } = new URL(probe.url);
  let signed: UpstreamRequest;
  try {
    signed = await provider.sign(buildRequest(probe));
  } catch (error) {
    const message = `requests cannot be signed: ${getMessage(error)}`;
    return [{ subject, state: 'fault', message, remedy: `check ${probe.variable}` }];
  }
  return ask(signed, subject, host, probe);
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
  { method, url, headers, body }: UpstreamRequest,
  subject: string,
  host: string,
  { variable, missing }: Probe,
): Promise<Finding[]> {
  try {
    const asked = Date.now();
    const response = await fetch(url, {
      method,
      headers,
      ...(method === 'GET' ? {} : { body }),
      redirect: 'manual',
      signal: AbortSignal.timeout(patience),
    });
    const now = (asked + Date.now()) / 2;
    await response.body?.cancel();
    const status = missing && response.status === 404 ? 200 : response.status;
    return [
      describeStatus(subject, host, status, variable),
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
