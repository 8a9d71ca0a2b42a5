/**
 * A cloud in front of a fake vendor. It checks what arrives, refuses it or passes it on as the vendor's own
 * API expects it, and changes the reply as the cloud does. When its client disconnects, its call to the
 * vendor ends too.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { serve } from '../serve.ts';

export interface Arrived {
  readonly method: string;
  /** As sent, with its query. */
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Refusal {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object;
}

export interface Onward {
  /** Of the vendor behind. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer<ArrayBuffer>;
  /** The reply in the cloud's form; the vendor's own if absent. */
  readonly dress?: (
    reply: Response,
    body: AsyncIterable<Uint8Array>,
  ) => { readonly headers: Readonly<Record<string, string>>; readonly body: AsyncIterable<Uint8Array> };
}

export interface Cloud {
  readonly origin: string;
  /** Every request, in order. */
  readonly arrived: readonly Arrived[];
  close(): Promise<void>;
}

export type Conduct = (arrived: Arrived) => Refusal | Onward;

async function pass({ url, headers, body, dress }: Onward, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  try {
    const reply = await fetch(url, { method: 'POST', headers, body, signal: gone.signal });
    const { 'content-type': type = 'application/json', 'retry-after': retryAfter } = Object.fromEntries(
      reply.headers,
    );
    const plain: AsyncIterable<Uint8Array> = reply.body ?? new Blob([]).stream();
    const dressed = dress?.(reply, plain) ?? { headers: { 'content-type': type }, body: plain };
    response.writeHead(reply.status, {
      ...dressed.headers,
      ...(retryAfter ? { 'retry-after': retryAfter } : {}),
    });
    for await (const chunk of dressed.body) response.write(chunk);
    response.end();
  } catch {
    response.destroy();
  }
}

/** The cloud answers a schema violation like any other refusal. */
function runConduct(conduct: Conduct, arrived: Arrived): Refusal | Onward {
  try {
    return conduct(arrived);
  } catch (error) {
    return {
      status: 400,
      body: { message: `not understood: ${error instanceof Error ? error.message : ''}` },
    };
  }
}

export async function startCloud(conduct: Conduct): Promise<Cloud> {
  const arrived: Arrived[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request));
    const one = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body };
    arrived.push(one);
    const step = runConduct(conduct, one);
    if ('url' in step) return void pass(step, response);
    response
      .writeHead(step.status, { 'content-type': 'application/json', ...step.headers })
      .end(JSON.stringify(step.body));
  });
  const { origin, close } = await serve(server);
  return { origin, close, arrived };
}
