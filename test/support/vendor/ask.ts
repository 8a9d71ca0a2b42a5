/**
 * The simplest way to call a vendor in its own tests: one request; returns its status, its body as text, and
 * its chunks.
 */
import type { Vendor } from './chat-completions.ts';

export const question = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hello!' }] };

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export async function ask(
  vendor: Vendor,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const response = await fetch(`${vendor.url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${vendor.key}`, 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** The data of a stream's events, in order. */
export function readData(stream: string): string[] {
  return stream.split('\n\n').flatMap((block) => (block.startsWith('data: ') ? [block.slice(6)] : []));
}
