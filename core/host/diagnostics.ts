/**
 * Checks of `tollgate doctor`: each finding says what was checked, the result, and how to fix a fault. Plugins
 * add their own. The check of a provider is here, because it is the same for all.
 */
import type { Provider, UpstreamRequest } from '../provider.ts';

export interface Finding {
  /** What was looked at, in a word or two. */
  readonly subject: string;
  /** A `note` is worth knowing and keeps nothing from working. */
  readonly state: 'well' | 'note' | 'fault';
  readonly told: string;
  /** What to do about it. */
  readonly remedy?: string;
}

/** Something that may be ill: looked at when somebody asks, with a gateway running beside it or none. */
export interface Examination {
  readonly name: string;
  examine(): Promise<Finding[]>;
}

/** Where a call that costs nothing tells whether a vendor is there and takes the key. */
export interface Probe {
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Of a vendor that has nothing free to GET: what is posted to count tokens, say. */
  readonly body?: string | undefined;
  /** The environment variable the key is usually in. */
  readonly variable: string;
}

const patience = 10_000;
/**
 * Milliseconds our clock may be off: beyond the first it is worth knowing, beyond the second signatures are
 * refused.
 */
const noted = 5000;
const refused = 60_000;

/**
 * The subject of what a vendor's `date` tells of our clock; every vendor tells it, and the doctor repeats the
 * worst.
 */
export const clock = 'clock';

function clockFinding(date: string | null, host: string, now: number): Finding[] {
  const theirs = Date.parse(date ?? '');
  if (Number.isNaN(theirs)) return [];
  const off = now - theirs;
  const told = `${Math.abs(off / 1000).toFixed(0)} s ${off > 0 ? 'ahead of' : 'behind'} ${host}`;
  if (Math.abs(off) <= noted) return [{ subject: clock, state: 'well', told: `agrees with ${host}` }];
  return [
    {
      subject: clock,
      state: Math.abs(off) > refused ? 'fault' : 'note',
      told,
      remedy: 'set the clock of this machine, or let it be set (NTP)',
    },
  ];
}

function findingOf(subject: string, host: string, status: number, variable: string): Finding {
  if (status === 401 || status === 403)
    return {
      subject,
      state: 'fault',
      told: `${host} does not accept the key (${status})`,
      remedy: `look at the key in ${variable}: it may be wrong, withdrawn, or not allowed to list models`,
    };
  if (status >= 500)
    return {
      subject,
      state: 'fault',
      told: `${host} answered ${status}`,
      remedy: 'it has trouble of its own: try again later',
    };
  if (status === 429)
    return {
      subject,
      state: 'note',
      told: `${host} is there, and has had enough calls for now (429)`,
      remedy: 'try again later, or raise the limit of the key',
    };
  if (status >= 300)
    return {
      subject,
      state: 'note',
      told: `${host} is there, and answered ${status} where its models are listed: whether it accepts the key is not known`,
      remedy: 'look whether its address is right',
    };
  return { subject, state: 'well', told: `${host} is there and accepts the key` };
}

/**
 * Whether a vendor is reached and takes the key, and what its clock says of ours. Nothing of the key is in
 * the answer.
 */
export async function examineVendor(provider: Provider, probe: Probe): Promise<Finding[]> {
  const subject =
    provider.credential === undefined ? provider.name : `${provider.name}, key ${provider.credential}`;
  const { host } = new URL(probe.url);
  let signed: UpstreamRequest;
  try {
    signed = await provider.sign(requestOf(probe));
  } catch (error) {
    const told = `there is nothing to sign with: ${error instanceof Error ? error.message : String(error)}`;
    return [{ subject, state: 'fault', told, remedy: `look at ${probe.variable}` }];
  }
  return ask(signed, subject, host, probe.variable);
}

function requestOf({ url, headers = {}, body }: Probe): UpstreamRequest {
  const type = body === undefined ? {} : { 'content-type': 'application/json' };
  return {
    method: body === undefined ? 'GET' : 'POST',
    url,
    headers: { accept: 'application/json', 'user-agent': 'tollgate', ...type, ...headers },
    body: body ?? '',
  };
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return 'code' in cause ? String(cause.code) : cause.message || cause.name;
}

async function ask(
  { method, url, headers, body }: UpstreamRequest,
  subject: string,
  host: string,
  variable: string,
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
    return [
      findingOf(subject, host, response.status, variable),
      ...clockFinding(response.headers.get('date'), host, now),
    ];
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    return [
      {
        subject,
        state: 'fault',
        told: `${host} could not be asked: ${reasonOf(cause)}`,
        remedy: 'look at its address, at name resolution, and at what stands between (firewall, proxy)',
      },
    ];
  }
}
