/** A gateway in front of a vendor that answers each call with a test's reply, for any client and any wire. */
import type { Answered, End, Failed } from '../../core/index.ts';
import { textProtocols } from './front.ts';
import { startGateway } from './gateway.ts';
import { postJson } from './post.ts';
import type { Wire } from './replaying-vendor.ts';
import { startScriptedVendor } from './scripted-vendor.ts';
import { acceptAnyKey, testProvider } from './test-provider.ts';

interface Asked {
  readonly status: number;
  readonly text: string;
  readonly end: Answered | Failed;
}

export interface OneReply {
  /** Bodies the vendor received. */
  readonly bodies: readonly string[];
  /**
   * Asks as a client of this protocol, while the vendor answers `reply`: a list as a stream of these events,
   * an object as JSON, a text as it is.
   */
  ask(
    client: Wire,
    reply: object | string,
    options?: { readonly stream?: boolean; readonly fields?: object; readonly status?: number },
  ): Promise<Asked>;
  close(): Promise<void>;
}

const model = 'house/model';
const question = 'Who is it?';

function buildCall(client: Wire, stream: boolean, fields: object): readonly [path: string, body: object] {
  const turns = [{ role: 'user', content: question }];
  if (client === 'chat-completions')
    return ['/v1/chat/completions', { model, messages: turns, stream, ...fields }];
  if (client === 'responses') return ['/v1/responses', { model, input: question, stream, ...fields }];
  if (client === 'messages')
    return ['/alpha/v1/messages', { model, max_tokens: 100, messages: turns, stream, ...fields }];
  const verb = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
  return [
    `/beta/v1beta/models/${model}:${verb}`,
    { contents: [{ role: 'user', parts: [{ text: question }] }], ...fields },
  ];
}

/**
 * One event of a stream; an object has its `type` as its name if the wire names its events, text is sent
 * unchanged.
 */
function buildFrame(event: unknown): string {
  if (typeof event === 'string') return `data: ${event}\n\n`;
  const type = typeof event === 'object' && event && 'type' in event ? `event: ${String(event.type)}\n` : '';
  return `${type}data: ${JSON.stringify(event)}\n\n`;
}

function isEnd(end: End | undefined): end is Answered | Failed {
  return end?.type === 'answered' || end?.type === 'failed';
}

/** `wire` is what the vendor speaks. */
export async function openOneReply(wire: Wire): Promise<OneReply> {
  const vendor = await startScriptedVendor(() => undefined);
  const gateway = await startGateway({
    plugins: [
      acceptAnyKey(),
      ...textProtocols(),
      testProvider({ name: 'house', endpoints: { [wire]: vendor.origin }, models: [{}] }),
    ],
  });
  let calls = 0;
  return {
    bodies: vendor.bodies,
    async ask(client, reply, { stream = Array.isArray(reply), fields = {}, status = 200 } = {}) {
      vendor.conduct((response) => {
        const streamed = Array.isArray(reply);
        response.writeHead(status, { 'content-type': streamed ? 'text/event-stream' : 'application/json' });
        if (streamed) response.end(reply.map(buildFrame).join(''));
        else response.end(typeof reply === 'string' ? reply : JSON.stringify(reply));
      });
      const [path, body] = buildCall(client, stream, fields);
      const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
      const response = await postJson(gateway.url + path, body, headers);
      const text = await response.text();
      calls += 1;
      const end = (await gateway.ended(calls))[calls - 1];
      if (!isEnd(end)) throw new Error(`the call ended as ${end?.type}: ${text}`);
      return { status: response.status, text, end };
    },
    async close() {
      await gateway.close();
      await vendor.close();
    },
  };
}
