/**
 * Calls to the admin API. The session is a cookie, which the browser adds. If the session is refused, the
 * sign-in page appears.
 */
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Invitation, NewKey, OwnKeys } from '../../../shared/replies/accounts.ts';
import type { CallForm } from '../../../shared/replies/call-form.ts';
import type { OwnCall, OwnCallRecord } from '../../../shared/replies/calls.ts';
import type { Replies } from '../../../shared/replies/routes.ts';
import type { OwnKey } from '../../../shared/replies/spending.ts';
import { useKept } from './kept.ts';
import { getMessage, notify, useSignal, buildAddress, type Params } from './kit.ts';

export interface Session {
  readonly signedIn: boolean;
  readonly readOnly: boolean;
  /** The id of a key, or who a person is as the holder of keys. */
  readonly key?: string;
  /** Of a person. */
  readonly name?: string;
  readonly role?: Replies['GET /admin/people']['data'][number]['role'];
  /** The operations that the role allows. */
  readonly may?: readonly string[];
  /** Where people sign in at an identity provider. */
  readonly signIn?: string | undefined;
  /** Whether it ended although the operator did not sign out. */
  readonly isOver?: boolean;
}

/** What the gateway says about itself; `/console/facts` answers it on both listeners. */
export interface Facts {
  /** Where clients reach the public listener, if configured. */
  readonly url: string | null;
  readonly port: number;
  /** Base addresses of SDKs, below the gateway's own. */
  readonly addresses: readonly {
    readonly client: string;
    readonly protocol: string;
    readonly path: string;
  }[];
  readonly forms: readonly CallForm[];
}

/** A model in the public listing, which clients read. */
export interface ListedModel {
  readonly id: string;
  readonly name?: string;
  readonly context_length?: number;
  readonly architecture?: {
    readonly input_modalities?: readonly string[];
    readonly output_modalities?: readonly string[];
  };
  readonly pricing?: Readonly<Record<string, string>>;
}

/** The replies of all operations, and of what only the console and key holders ask. */
interface Sent extends Replies {
  readonly 'GET /console/session': Session;
  readonly 'POST /console/session': Session;
  readonly 'DELETE /console/session': unknown;
  readonly 'GET /console/facts': Facts;
  readonly 'GET /v1/key': OwnKey;
  readonly 'GET /v1/calls': List<OwnCall>;
  readonly 'GET /v1/calls/:id': OwnCallRecord;
  readonly 'GET /v1/keys': OwnKeys;
  readonly 'POST /v1/keys': NewKey;
  readonly 'POST /v1/keys/:key/rotate': NewKey;
  readonly 'DELETE /v1/keys/:key': unknown;
  readonly 'POST /v1/invitations/look': Pick<Invitation, 'account' | 'name' | 'expires'>;
  readonly 'POST /v1/invitations/redeem': NewKey;
  readonly 'GET /v1/models': List<ListedModel>;
}

type Readable = Extract<keyof Sent, `GET ${string}`>;
/** The rows of a list. */
type RowOf<Name extends Readable> = Sent[Name] extends { readonly data: readonly (infer Row)[] }
  ? Row
  : never;

/** Undefined until the first reply shows whether the operator is signed in. */
export const session = signal<Session | undefined>(undefined);

/** Shows the sign-in page. */
export function endSession(isOver: boolean): void {
  const { signIn } = session.value ?? {};
  session.value = { signedIn: false, readOnly: false, isOver, signIn };
}

/** Asks whether the operator is still signed in, for what cannot tell a refusal from a lost connection. */
export async function checkSession(): Promise<void> {
  const now = await call('GET /console/session').catch(() => undefined);
  if (now && !now.signedIn) endSession(true);
}

export type Operation = keyof Replies;

/** Whether to show what runs an operation: the gateway refuses it to other roles, and to read-only keys. */
export function mayChange(operation: Operation): boolean {
  const { readOnly, may } = session.value ?? {};
  return may ? may.includes(operation) : !readOnly;
}

export class ApiError extends Error {
  readonly status: number;
  /** The field at fault. */
  readonly param: string | null;

  constructor(status: number, message: string, param: string | null) {
    super(message);
    this.status = status;
    this.param = param;
  }
}

function readError(status: number, text: string): ApiError {
  try {
    const { error } = JSON.parse(text);
    if (typeof error?.message === 'string') return new ApiError(status, error.message, error.param ?? null);
  } catch {
    // The reply is not JSON: it came from some proxy.
  }
  return new ApiError(status, `The gateway returned status ${status}.`, null);
}

/** Counts up when what is shown has to be loaded again. */
const turn = signal(0);

/** Loads again what is shown: after a change, or because the reader wants it. */
export function reload(): void {
  turn.value += 1;
}

/** Operations after which what is shown may be out of date. */
const changing = /^(?:POST|PATCH|DELETE) \/admin\/(?!crossing|config)/;

/** The reply to a request with this key, or with the session. Throws an `ApiError` if there is none. */
async function ask<T>(url: string, key = '', { body, ...request }: RequestInit = {}): Promise<T> {
  const headers = {
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(key !== '' && { authorization: `Bearer ${key}` }),
  };
  const response = await fetch(url, { ...request, body: body ?? null, headers }).catch(() => {
    throw new ApiError(0, 'Cannot reach the gateway. Is it running?', null);
  });
  const text = await response.text();
  if (response.ok) return JSON.parse(text === '' ? 'null' : text);
  // Of a key, and of a secret to sign in with, the reply says what is wrong.
  if (response.status !== 401 || key !== '' || url === '/console/session')
    throw readError(response.status, text);
  endSession(true);
  throw new ApiError(401, 'Your session ended before this was done.', null);
}

/** The URL of a route: fields that its path names are put there, and the others into the query. */
export function buildUrl(route: keyof Sent, fields: Params = {}): string {
  const rest: Record<string, Params[string]> = { ...fields };
  const path = route.replace(/^\w+ /, '').replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = encodeURIComponent(String(rest[name]));
    delete rest[name];
    return value;
  });
  return buildAddress(path, rest);
}

/** Runs an operation, or asks what only the console and key holders ask. */
export async function call<Name extends keyof Sent>(
  route: Name,
  fields?: Params,
  body?: unknown,
  key?: string,
): Promise<Sent[Name]> {
  const [method = ''] = route.split(' ');
  const sent = ['POST', 'PUT', 'PATCH'].includes(method) ? { body: JSON.stringify(body ?? {}) } : {};
  const reply = await ask<Sent[Name]>(buildUrl(route, fields), key, { method, ...sent });
  if (changing.test(route)) reload();
  return reply;
}

export interface Loaded<T> {
  /** The last reply. It stays until the next one arrives, so that the page does not jump. */
  readonly data: T | undefined;
  readonly error: Error | undefined;
  readonly loading: boolean;
}

interface Loading {
  /** Milliseconds after which to load again, while the page is visible. */
  readonly every?: number;
  /** A key to send. */
  readonly key?: string;
}

/** Loads when the URL or the key changes. Without a URL nothing is loaded. */
function useJson<T>(url: string | undefined, { every, key = '' }: Loading = {}): Loaded<T> {
  const [state, setState] = useState<Loaded<T>>({
    data: undefined,
    error: undefined,
    loading: url !== undefined,
  });
  const [tick, setTick] = useState(0);
  const wanted = useRef(url);
  useEffect(() => {
    if (url === undefined) return undefined;
    const isOther = wanted.current !== url;
    wanted.current = url;
    let isCurrent = true;
    setState(({ data, error }) => ({ data, error: isOther ? undefined : error, loading: true }));
    ask<T>(url, key).then(
      (data) => isCurrent && setState({ data, error: undefined, loading: false }),
      (thrown: unknown) => {
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        if (isCurrent) setState(({ data }) => ({ data: isOther ? undefined : data, error, loading: false }));
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [url, key, turn.value, tick]);
  const isLoading = useRef(false);
  isLoading.current = state.loading;
  useEffect(() => {
    if (every === undefined || url === undefined) return undefined;
    // A reply that takes longer than the interval is waited for.
    const timer = setInterval(() => {
      if (!document.hidden && !isLoading.current) setTick((last) => last + 1);
    }, every);
    return () => clearInterval(timer);
  }, [url, every]);
  return { ...state, error: url === undefined ? undefined : state.error };
}

/** Loads the reply of a route, if there is one. */
export function useData<Name extends Readable>(
  route: Name | undefined,
  fields?: Params,
  loading?: Loading,
): Loaded<Sent[Name]> {
  return useJson(route && buildUrl(route, fields), loading);
}

export interface List<Row> {
  readonly data: readonly Row[];
  /** The next page's `after`; missing in lists without pages. */
  readonly next?: string | number | null;
}

export interface LoadedList<Row> extends Omit<Loaded<List<Row>>, 'data'> {
  /** Undefined until the first page has loaded. */
  readonly rows: readonly Row[] | undefined;
  /** Loads the next page. Undefined at the end. */
  readonly loadMore: (() => void) | undefined;
}

/** Rows of the API's largest page, for lists in which people look for a name. */
export const largestPage = 1000;

/**
 * A list of the API: its first page is loaded like other data, the others on demand. On the way back to a
 * list its first page is as long as the list was.
 */
export function useList<Name extends Readable>(
  route: Name,
  fields?: Params,
  loading?: Loading,
): LoadedList<RowOf<Name>> {
  type Row = RowOf<Name>;
  const kept = useKept(`rows of ${route}`);
  const limit = useRef(kept.value).current;
  const { data: first, ...state } = useJson<List<Row>>(buildUrl(route, { limit, ...fields }), loading);
  const further = useSignal<List<Row> | undefined>(undefined);
  useEffect(() => {
    further.value = undefined;
  }, [buildUrl(route, fields), first]);
  const start = useRef(first);
  start.current = first;
  const getLast = () => further.value ?? start.current;
  const next = getLast()?.next ?? null;
  const rows = first && [...first.data, ...(further.value?.data ?? [])];
  async function loadMore(): Promise<void> {
    if (next === null) return;
    const before = getLast();
    try {
      const page = await ask<List<Row>>(buildUrl(route, { ...fields, after: next }), loading?.key);
      // Two clicks ask twice, and what is listed may be another selection by now.
      if (getLast() !== before) return;
      further.value = { ...page, data: [...(further.value?.data ?? []), ...page.data] };
      kept.value = String(Math.min(largestPage, (rows?.length ?? 0) + page.data.length));
    } catch (error) {
      notify(getMessage(error), true);
    }
  }
  return { ...state, rows, loadMore: next === null ? undefined : () => void loadMore() };
}
