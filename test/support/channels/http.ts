/** A server that a channel posts to: it checks what comes as a vendor does, and can be told to fail. */
import { createServer, type IncomingMessage } from 'node:http';
import { serve } from '../serve.ts';

/** What a vendor replies to a request with this JSON. */
export interface Reply {
  readonly status: number;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** What people then read, if it was accepted. */
  readonly shown?: Shown;
}

export interface Shown {
  readonly text: string;
  /** Mentions and links in it, as the vendor would make them of the text. */
  readonly marks: readonly string[];
}

export interface FakeChannel {
  readonly url: string;
  /** What people read, message by message. */
  readonly shown: readonly Shown[];
  /** How many requests it had. */
  count(): number;
  /** Replies so to the next requests. With status 0 it does not reply. */
  failNext(...replies: readonly Reply[]): void;
  close(): Promise<void>;
}

export async function startHttpChannel(
  path: string,
  answer: (request: IncomingMessage, body: unknown) => Reply,
): Promise<FakeChannel> {
  const shown: Shown[] = [];
  const failures: Reply[] = [];
  let count = 0;
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
    count += 1;
    const { status, text: reply = '', headers = {}, shown: read } = failures.shift() ?? judge(request, text);
    if (read) shown.push(read);
    if (status > 0) response.writeHead(status, headers).end(reply);
  });
  function judge(request: IncomingMessage, text: string): Reply {
    if (request.url !== path) return { status: 404, text: 'no_service' };
    if (request.method !== 'POST') return answer(request, undefined);
    if (!request.headers['content-type']?.startsWith('application/json')) return { status: 415 };
    try {
      return answer(request, JSON.parse(text));
    } catch {
      return { status: 400, text: 'invalid_payload' };
    }
  }
  const { origin, close } = await serve(server);
  return {
    url: origin + path,
    shown,
    count: () => count,
    failNext: (...replies) => void failures.push(...replies),
    close,
  };
}
