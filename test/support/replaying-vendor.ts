/**
 * A vendor that answers each wire with that wire's golden reply, whole or streamed as asked, for flows in
 * which only the reply matters. It records requests but does not check them; the strict vendors do that.
 */
import { createServer } from 'node:http';
import { readGolden } from './golden.ts';
import { serve } from './serve.ts';

export const wires = ['chat-completions', 'responses', 'messages', 'generate-content'] as const;
export type Wire = (typeof wires)[number];

export interface ReplayingVendor {
  readonly origin: string;
  readonly requests: readonly { readonly wire: Wire; readonly body: unknown }[];
  /** Which golden case each wire answers with from now on. */
  answerWith(cases: Readonly<Record<Wire, string>>): void;
  close(): Promise<void>;
}

function readWire(path: string): Wire {
  if (path.endsWith('/chat/completions')) return 'chat-completions';
  if (path.endsWith('/responses')) return 'responses';
  return path.endsWith('/messages') ? 'messages' : 'generate-content';
}

export async function startReplayingVendor(): Promise<ReplayingVendor> {
  const requests: { wire: Wire; body: unknown }[] = [];
  let cases: Readonly<Record<Wire, string>> = {
    'chat-completions': 'text',
    responses: 'text',
    messages: 'text',
    'generate-content': 'text',
  };
  const server = createServer(async (request, response) => {
    const body: unknown = JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString());
    const wire = readWire(new URL(request.url ?? '', 'http://vendor').pathname.replace(/:.*$/, ''));
    requests.push({ wire, body });
    const streamed = request.headers.accept === 'text/event-stream';
    response.writeHead(200, { 'content-type': streamed ? 'text/event-stream' : 'application/json' });
    response.end(readGolden(wire, cases[wire], streamed ? 'reply.sse' : 'reply.json'));
  });
  const { origin, close } = await serve(server);
  return {
    origin,
    close,
    requests,
    answerWith: (wanted) => void (cases = wanted),
  };
}
