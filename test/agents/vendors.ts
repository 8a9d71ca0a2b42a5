/**
 * The gateway as delivered, in a process of its own, in front of four strict vendors: OpenAI on both of its
 * wires, Anthropic, Google, and one that is compatible with OpenAI.
 */
import { createServer, request as ask } from 'node:http';
import { connect, createServer as createRelay } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { makeDataFolder, startProcess } from '../support/process.ts';
import { serve } from '../support/serve.ts';
import {
  startChatVendor,
  startGenerateContentVendor,
  startMessagesVendor,
  startResponsesVendor,
  type ReceivedRequest,
  type Scenario,
} from '../support/vendor/index.ts';
import { act } from './acting.ts';

/** The vendors, each with the model that the agents ask for. */
export const models = {
  openai: 'openai/gpt-5.4',
  anthropic: 'anthropic/claude-opus-4-8',
  google: 'google/gemini-3-flash-preview',
  compatible: 'mistral/mistral-medium-2604',
} as const;
export type Vendor = keyof typeof models;

/** The model of the compatible vendor by its own name. It takes the field as Mistral does. */
const upstream = models.compatible.replace('mistral/', '');

let calls = 0;

/** Mistral's ids of calls have nine characters, and opencode cuts longer ones for its models. */
function shortenIds(scenario: Scenario): Scenario {
  const toolCalls = scenario.toolCalls?.map((call) => ({
    ...call,
    id: String((calls += 1)).padStart(9, '0'),
  }));
  return { ...scenario, ...(toolCalls && { toolCalls }) };
}

/** One address for both wires of OpenAI. */
async function joinWires(wires: Readonly<Record<'responses' | 'chat', string>>) {
  return serve(
    createServer((incoming, outgoing) => {
      const origin = incoming.url?.includes('/responses') ? wires.responses : wires.chat;
      const { method = 'GET', headers, url = '/' } = incoming;
      const passed = ask(new URL(url, origin), { method, headers }, (reply) => {
        outgoing.writeHead(reply.statusCode ?? 502, reply.headers);
        reply.pipe(outgoing);
      });
      passed.on('error', () => outgoing.destroy());
      incoming.pipe(passed);
    }),
  );
}

/** Passes all bytes between agents and the gateway. It keeps what agents are sent: no mask hides that. */
async function startRelay(gateway: string) {
  let sent = '';
  const { port } = new URL(gateway);
  const relay = createRelay((client) => {
    const server = connect(Number(port), '127.0.0.1');
    server.on('data', (chunk) => (sent += String(chunk)));
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.on('error', () => to.destroy());
      from.pipe(to);
    }
  });
  const { close, origin } = await serve(relay);
  const takeSent = (): string => {
    const taken = sent;
    sent = '';
    return taken;
  };
  return { close, origin, takeSent };
}

/** A call is logged a moment after its reply. It may have no line of its own if the agent disconnected. */
async function waitForLog(print: () => string, count: () => number): Promise<void> {
  const sum = (): number =>
    [...print().matchAll(/"attempts":(\d+)/g)].reduce((total, [, attempts]) => total + Number(attempts), 0);
  for (let waits = 0; sum() < count() && waits < 50; waits += 1) await setTimeout(100);
}

export interface World {
  readonly url: string;
  readonly key: string;
  /** Number of requests that any vendor received, and those since then. */
  count(): number;
  listRequests(since: number): readonly ReceivedRequest[];
  /** What the gateway has logged since the last look. */
  takeLog(): Promise<string[]>;
  /** What the gateway has sent to agents since the last look. */
  takeSent(): string;
  close(): Promise<void>;
}

export async function openWorld(): Promise<World> {
  const [chat, responses, messages, google, compatible] = await Promise.all([
    startChatVendor(),
    startResponsesVendor(),
    startMessagesVendor(),
    startGenerateContentVendor(),
    startChatVendor({ [upstream]: { extensions: { fields: ['reasoning_effort'] } } }),
  ]);
  const vendors = [chat, responses, messages, google, compatible];
  const play = ({ request }: { readonly request: unknown }): Scenario => act(request);
  chat.script('*', play);
  responses.script('*', play);
  messages.script('*', play);
  google.script('*', play);
  compatible.script('*', ({ request }) => shortenIds(act(request)));
  const openai = await joinWires({
    chat: new URL(chat.url).origin,
    responses: new URL(responses.url).origin,
  });
  if (chat.key !== responses.key) throw new Error('the two wires of OpenAI take one key');
  const gateway = await startProcess({
    TOLLGATE_DATA: makeDataFolder(),
    TOLLGATE_FIRST_CREDIT: '1000',
    OPENAI_API_KEY: chat.key,
    OPENAI_BASE_URL: `${openai.origin}/v1`,
    ANTHROPIC_API_KEY: messages.key,
    ANTHROPIC_BASE_URL: messages.url,
    GEMINI_API_KEY: google.key,
    GOOGLE_GEMINI_BASE_URL: google.url,
    MISTRAL_API_KEY: compatible.key,
    MISTRAL_BASE_URL: compatible.url,
  });
  const relay = await startRelay(gateway.url);
  const [key = ''] = /sk-[\w-]{20,}/.exec(gateway.printed()) ?? [];
  let seen = gateway.printed().length;
  const list = (): ReceivedRequest[] =>
    vendors
      .flatMap(({ requests }) => [...requests])
      .toSorted((one, other) => one.receivedAt - other.receivedAt);
  return {
    url: relay.origin,
    key,
    count: () => list().length,
    listRequests: (since) => list().slice(since),
    async takeLog() {
      await waitForLog(
        () => gateway.printed(),
        () => list().length,
      );
      const lines = gateway.printed().slice(seen).split('\n');
      seen = gateway.printed().length;
      return lines;
    },
    takeSent: relay.takeSent,
    async close() {
      await relay.close();
      await gateway.stop('SIGTERM');
      await Promise.all([...vendors, openai].map((each) => each.close()));
    },
  };
}
