/** A vendor that does exactly what a test says for each request, down to the socket. It knows no protocol. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

/** Takes the request, its body, and the response to answer or not. */
export type Conduct = (response: ServerResponse, request: IncomingMessage, body: string) => void;

export interface ScriptedVendor {
  readonly origin: string;
  /** Bodies of the requests that arrived whole, in order. */
  readonly bodies: readonly string[];
  /** Sets what it does from now on. */
  conduct(next: Conduct): void;
  close(): Promise<void>;
}

export async function startScriptedVendor(first: Conduct): Promise<ScriptedVendor> {
  let current = first;
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    response.on('error', () => undefined);
    const body = Buffer.concat(await Array.fromAsync(request)).toString();
    bodies.push(body);
    current(response, request, body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  return {
    origin: `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    bodies,
    conduct: (next) => void (current = next),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
