/** A vendor that does exactly what a test says for each request, down to the socket. It knows no protocol. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { serve } from './serve.ts';

/** Takes the request, its body, and the response to answer or not. */
export type Conduct = (response: ServerResponse, request: IncomingMessage, body: string) => void;

export interface ScriptedVendor {
  readonly origin: string;
  /** Bodies of the requests that arrived whole, in order. */
  readonly bodies: readonly string[];
  /** Requests that are neither answered nor broken off. */
  openRequests(): number;
  /** Sets what it does from now on. */
  conduct(next: Conduct): void;
  close(): Promise<void>;
}

export function sendJson(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): void {
  const type = { 'content-type': 'application/json' };
  response.writeHead(status, { ...type, ...headers }).end(JSON.stringify(body));
}

export async function startScriptedVendor(first: Conduct): Promise<ScriptedVendor> {
  let current = first;
  const bodies: string[] = [];
  let open = 0;
  const server = createServer(async (request, response) => {
    open += 1;
    response.on('error', () => undefined).once('close', () => (open -= 1));
    const body = Buffer.concat(await Array.fromAsync(request)).toString();
    bodies.push(body);
    current(response, request, body);
  });
  const { origin, close } = await serve(server);
  return { origin, close, bodies, openRequests: () => open, conduct: (next) => void (current = next) };
}
