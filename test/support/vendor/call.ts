/**
 * The simplest way to call any vendor in the vendors' tests: one body to one path; returns its status and
 * text.
 */
import type { Stage } from './stage.ts';

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; throws if it is not JSON. */
  json(): unknown;
}

export interface Caller {
  (
    body: unknown,
    options?: { readonly path?: string; readonly headers?: Readonly<Record<string, string>> },
  ): Promise<Reply>;
}

/** Takes a vendor, its usual path and its usual credential; returns a function that calls it. */
export function createCaller(
  vendor: Pick<Stage, 'url'>,
  usualPath: string,
  usualHeaders: Readonly<Record<string, string>>,
): Caller {
  const { origin } = new URL(vendor.url);
  return async (body, { path = usualPath, headers = {} } = {}) => {
    const shown = Object.entries({ 'content-type': 'application/json', ...usualHeaders, ...headers }).filter(
      ([, value]) => value !== '',
    );
    const response = await fetch(origin + path, {
      method: 'POST',
      headers: Object.fromEntries(shown),
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) };
  };
}
