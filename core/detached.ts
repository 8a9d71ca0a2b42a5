/**
 * Calls whose client does not wait. They take all steps of a call and are charged like one, a stop waits for
 * them, and their reply goes nowhere: the plugin that starts one reads its end.
 */
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Core } from './core.ts';
import type { Parsed } from './exchange.ts';
import { Arrival } from './http/arrival.ts';
import { parseJson } from './http/json-body.ts';
import { Reply } from './http/reply.ts';
import { runCall } from './pipeline.ts';
import type { DetachedCall } from './plugin.ts';

/** Takes a reply as fast as a provider sends it. */
class UnreadReply extends Reply {
  override write(): undefined {
    return undefined;
  }

  override finish(): void {
    this.memory.release();
  }

  override keepAlive(): void {
    // No client is connected.
  }
}

/** Throws if the caller holds too much memory. */
export function runDetached(core: Core, parsed: Parsed, body: string): DetachedCall {
  const { protocol, principal, family, operation, method, path, query } = parsed;
  const bytes = Buffer.from(body);
  const share = core.bodies.openShare(principal);
  share.takeWhole(bytes);
  // The key's outcome is the reply to the client's own request.
  const { 'idempotency-key': _key, ...headers } = parsed.headers;
  const received = new Arrival(
    { logger: core.logger, trustedProxies: 0 },
    {
      method,
      path,
      querystring: query.toString(),
      req: { headers, socket: { remoteAddress: parsed.address } },
    },
    { family, operation },
  );
  const reply = new UnreadReply(new ServerResponse(new IncomingMessage(new Socket())), received.id, core);
  const match = protocol.client.match(method, path, query.toString()) ?? { operation };
  const running = core.calls.begin(received);
  const end = runCall(core, received, { protocol, match, reply, readBody: async () => parseJson(bytes) });
  const release = (): void => {
    core.calls.end(running);
    share.release();
    reply.memory.release();
  };
  void end.finally(release);
  return { id: received.id, end, cancel: () => received.cancellation.cancel() };
}
