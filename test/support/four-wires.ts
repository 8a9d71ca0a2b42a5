/**
 * A gateway in front of a strict vendor of each text wire, with two models on each: a plain one that accepts
 * all sampling, and one that reasons (and, if a vendor has one, one that draws, searches or speaks). Each
 * model is reached by its own wire alone, so that a client of any protocol is translated to it. No call is
 * paid: other tests cover that.
 */
import { z } from 'zod';
import {
  checkModel,
  definePlugin,
  type ConfigInput,
  type End,
  type Endpoint,
  type PluginFactory,
} from '../../core/index.ts';
import { bearer } from '../../plugins/auth/bearer.ts';
import { balance } from '../../plugins/meters/balance/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { preferences } from '../../plugins/routing/preferences.ts';
import { facts, fees, seen } from './four-wires-models.ts';
import { startGateway, type TestGateway } from './gateway.ts';
import { postJson } from './post.ts';
import { wires, type Wire } from './replaying-vendor.ts';
import { acceptAnyKey } from './test-provider.ts';
import {
  startChatVendor,
  startGenerateContentVendor,
  startMessagesVendor,
  startResponsesVendor,
  type ReceivedRequest,
  type Scenario,
} from './vendor/index.ts';

export { wires, type Wire };

export type Kind = 'plain' | 'thinking' | 'drawing' | 'searching' | 'speaking';

interface WireVendor {
  /** Its base URL as the vendor's SDK expects it. */
  readonly url: string;
  readonly key: string;
  readonly requests: readonly ReceivedRequest[];
  /** Each call to the model takes the next scenario, all later ones the last. */
  script(model: string, ...scenarios: readonly [Scenario, ...Scenario[]]): void;
  unscript(): void;
  close(): Promise<void>;
}

type WireVendors = Readonly<Record<Wire, WireVendor>>;

async function startWireVendors(): Promise<WireVendors> {
  const [chat, responses, messages, generateContent] = await Promise.all([
    startChatVendor(),
    startResponsesVendor(),
    startMessagesVendor(),
    startGenerateContentVendor(),
  ]);
  return { 'chat-completions': chat, responses, messages, 'generate-content': generateContent };
}

export function getModel(
  wire: Wire,
  kind: Kind = 'plain',
): { readonly id: string; readonly upstream: string } {
  return facts[wire][kind] ?? facts[wire].plain;
}

export const endpoints: Readonly<Record<Wire, (origin: string) => Endpoint>> = {
  'chat-completions': (origin) => `${origin}/v1/chat/completions`,
  responses: (origin) => (_target, operation) =>
    `${origin}/v1/responses${operation === 'count' ? '/input_tokens' : ''}`,
  messages: (origin) => (_target, operation) =>
    `${origin}/v1/messages${operation === 'count' ? '/count_tokens' : ''}`,
  'generate-content':
    (origin) =>
    ({ model }, operation, stream) => {
      const method = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
      return `${origin}/v1beta/models/${model.upstream}:${operation === 'count' ? 'countTokens' : method}`;
    },
};

/** How each vendor receives its key. */
const credentials: Readonly<Record<Wire, (key: string) => Record<string, string>>> = {
  'chat-completions': (key) => ({ authorization: `Bearer ${key}` }),
  responses: (key) => ({ authorization: `Bearer ${key}` }),
  messages: (key) => ({ 'x-api-key': key }),
  'generate-content': (key) => ({ 'x-goog-api-key': key }),
};

function createHarness(vendors: WireVendors): PluginFactory<z.ZodObject> {
  return definePlugin({
    name: 'harness',
    options: z.strictObject({}),
    apply(host) {
      for (const wire of wires) {
        const { url, key } = vendors[wire];
        const provider = {
          name: `${wire}-house`,
          endpoints: { [wire]: endpoints[wire](new URL(url).origin) },
          sign: <Request extends { headers: Readonly<Record<string, string>> }>(
            request: Request,
          ): Request => ({ ...request, headers: { ...request.headers, ...credentials[wire](key) } }),
        };
        host.providers.add(provider);
        host.catalog.offer(
          provider,
          Object.values(facts[wire]).map((known) =>
            checkModel({
              name: known.id,
              description: 'For tests.',
              created: '2026-01-01',
              contextLength: 200_000,
              outputLimit: 16_000,
              input: seen,
              output: ['text'],
              price: { input: '1', output: '2', ...fees },
              ...known,
            }),
          ),
        );
      }
    },
  });
}

/** A finished call: what the client received, what its vendor received, and how it ended. */
export interface Crossing {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The last request of this call to the vendor; undefined if there was none. */
  readonly sent: unknown;
  readonly end: End;
}

export interface FourWires {
  readonly gateway: TestGateway;
  readonly vendors: WireVendors;
  readonly key: string;
  /** Sends a body of a client's protocol to a model, unchanged. */
  ask(
    client: Wire,
    model: string,
    body: object,
    stream?: boolean,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Crossing>;
  close(): Promise<void>;
}

/** Where a client of each protocol calls, and its credential. */
export function buildPath(client: Wire, model: string, stream: boolean): string {
  if (client === 'chat-completions') return '/v1/chat/completions';
  if (client === 'responses') return '/v1/responses';
  return client === 'messages'
    ? '/alpha/v1/messages'
    : `/beta/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`;
}

/** What a gateway keeps of responses, for a key with credit. */
interface Keeping {
  readonly store: { readonly for: string };
  readonly dataFolder?: string;
  readonly timeouts?: ConfigInput['timeouts'];
}

export async function openFourWires(
  keeping?: Keeping,
  more: ConfigInput['plugins'] = [],
): Promise<FourWires> {
  const vendors = await startWireVendors();
  const gateway = await startGateway({
    dataFolder: keeping?.dataFolder,
    // The gateway passes a vendor's `retry-after` on at once.
    retries: { longestWait: 1 },
    timeouts: { firstEvent: 20, reply: 20, idle: 20, ...keeping?.timeouts },
    plugins: [
      ...(keeping ? [bearer(), balance({ firstCredit: '0' })] : [acceptAnyKey()]),
      chatCompletions(),
      responses({ store: keeping?.store }),
      messages(),
      generateContent(),
      createHarness(vendors)(),
      preferences(),
      ...more,
    ],
  });
  const key = keeping ? await gateway.newKey({ account: 'tester', credit: '1000' }) : 'any-key';
  return {
    gateway,
    vendors,
    key,
    async ask(client, model, body, stream = false, headers = {}) {
      const ended = gateway.ends.length;
      const asked = wires.map((wire) => vendors[wire].requests.length);
      const fields =
        client === 'generate-content'
          ? body
          : {
              model,
              ...body,
              ...(stream
                ? {
                    stream,
                    ...(client === 'chat-completions' ? { stream_options: { include_usage: true } } : {}),
                  }
                : {}),
            };
      const response = await postJson(gateway.url + buildPath(client, model, stream), fields, {
        authorization: `Bearer ${key}`,
        ...(client === 'messages' ? { 'anthropic-version': '2023-06-01' } : {}),
        ...headers,
      });
      const text = await response.text();
      const end = (await gateway.ended(ended + 1))[ended];
      if (!end) throw new Error('no end was observed');
      const last = wires.flatMap((wire, index) => vendors[wire].requests.slice(asked[index])).at(-1);
      return {
        status: response.status,
        headers: response.headers,
        text,
        sent: last && JSON.parse(last.body.toString()),
        end,
      };
    },
    async close() {
      await gateway.close();
      await Promise.all(wires.map((wire) => vendors[wire].close()));
    },
  };
}
