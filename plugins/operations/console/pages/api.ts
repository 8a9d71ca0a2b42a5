/**
 * Calls to the admin API. The session is a cookie, which the browser adds. A refused session brings back the
 * page to sign in on.
 */
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Session {
  readonly signedIn: boolean;
  /** The id of the key, or `operator-secret`. */
  readonly key: string;
  readonly readOnly: boolean;
  readonly expires: string;
}

/** Undefined until the first reply shows whether the operator is signed in. */
export const session = signal<Session | undefined>(undefined);

export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  /** The field at fault. */
  readonly param: string | null;

  constructor(status: number, code: string, message: string, param: string | null) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
  }
}

export type Params = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** A path with its query. Parameters that are empty are left out. */
export function address(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params))
    if (value !== undefined && value !== null && value !== '') query.set(name, String(value));
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

export interface Wanted {
  readonly method?: string;
  readonly params?: Params | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Sends a request. Throws an `ApiError` for an error reply, and for a gateway that cannot be reached. */
export async function send(path: string, wanted: Wanted = {}): Promise<Response> {
  const { method = 'GET', params, body, headers = {}, signal: aborted } = wanted;
  const json: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
  let response: Response;
  try {
    response = await fetch(address(path, params), {
      method,
      headers: { ...json, ...headers },
      body: body === undefined ? null : JSON.stringify(body),
      ...(aborted ? { signal: aborted } : {}),
    });
  } catch (error) {
    if (aborted?.aborted) throw error;
    throw new ApiError(0, 'unreachable', 'The gateway cannot be reached. Is it running?', null);
  }
  if (response.ok) return response;
  const text = await response.text();
  throw readError(response.status, text);
}

function readError(status: number, text: string): ApiError {
  try {
    const { error } = JSON.parse(text);
    if (typeof error?.message === 'string')
      return new ApiError(status, String(error.code), error.message, error.param ?? null);
  } catch {
    // The reply is no JSON: some proxy has answered.
  }
  return new ApiError(status, 'unknown', `The gateway answered with status ${status}.`, null);
}

async function ask<T>(path: string, wanted?: Wanted): Promise<T> {
  try {
    const response = await send(path, wanted);
    const text = await response.text();
    return JSON.parse(text === '' ? 'null' : text);
  } catch (error) {
    if (error instanceof ApiError && error.status === 401 && path !== '/console/session')
      session.value = { signedIn: false, key: '', readOnly: false, expires: '' };
    throw error;
  }
}

export const api = {
  get: <T>(path: string, params?: Params): Promise<T> => ask(path, { params }),
  post: <T>(path: string, body: unknown = {}): Promise<T> => ask(path, { method: 'POST', body }),
  patch: <T>(path: string, body: unknown): Promise<T> => ask(path, { method: 'PATCH', body }),
  put: <T>(path: string, body: unknown): Promise<T> => ask(path, { method: 'PUT', body }),
  delete: <T>(path: string, body?: unknown): Promise<T> => ask(path, { method: 'DELETE', body }),
};

export interface Loaded<T> {
  /** The last answer. It stays while the next one is on its way, so that the page does not jump. */
  readonly data: T | undefined;
  readonly error: Error | undefined;
  readonly loading: boolean;
  reload(): void;
}

/**
 * Loads from the API when the address changes, and again every `every` milliseconds while the page is
 * visible. Without a path nothing is loaded.
 */
export function useData<T>(path: string | undefined, params?: Params, every?: number): Loaded<T> {
  const url = path === undefined ? undefined : address(path, params);
  const [state, setState] = useState<Omit<Loaded<T>, 'reload'>>({
    data: undefined,
    error: undefined,
    loading: url !== undefined,
  });
  const [turn, setTurn] = useState(0);
  const wanted = useRef(url);
  useEffect(() => {
    if (url === undefined) return undefined;
    const isOther = wanted.current !== url;
    wanted.current = url;
    let isCurrent = true;
    setState(({ data, error }) => ({ data, error: isOther ? undefined : error, loading: true }));
    ask<T>(url).then(
      (data) => isCurrent && setState({ data, error: undefined, loading: false }),
      (error: unknown) =>
        isCurrent &&
        setState(({ data }) => ({
          data: isOther ? undefined : data,
          error: error instanceof Error ? error : new Error(String(error)),
          loading: false,
        })),
    );
    return () => {
      isCurrent = false;
    };
  }, [url, turn]);
  useEffect(() => {
    if (every === undefined || url === undefined) return undefined;
    const timer = setInterval(() => !document.hidden && setTurn((last) => last + 1), every);
    return () => clearInterval(timer);
  }, [url, every]);
  return { ...state, reload: () => setTurn((last) => last + 1) };
}
