/**
 * The simplest way to call any vendor in the vendors' tests: one body to one path; returns its status and
 * text.
 */
import type { Stage } from './stage.ts';

export const question = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }] };

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

/** Calls a vendor of chat-completions. */
export function createChatCaller(vendor: Pick<Stage, 'url' | 'key'>): Caller {
  return createCaller(vendor, '/v1/chat/completions', { authorization: `Bearer ${vendor.key}` });
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

/** The data of a stream's events, in order. */
export function readData(stream: string): string[] {
  return stream.split('\n\n').flatMap((block) => (block.startsWith('data: ') ? [block.slice(6)] : []));
}
