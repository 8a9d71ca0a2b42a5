/** The four strict vendors by one set of words: chat-completions, the oldest of them, has scenarios of its own. */
import type { Scenario } from './vendor/scenario.ts';
import { startVendor, type Scenario as ChatScenario } from './vendor/chat-completions.ts';
import { startGenerateContentVendor } from './vendor/generate-content.ts';
import { startMessagesVendor } from './vendor/messages.ts';
import { startResponsesVendor } from './vendor/responses.ts';
import type { ReceivedRequest } from './vendor/server.ts';
import type { Wire } from './replaying-vendor.ts';

/** What a test has a vendor do: the same on every wire, or by the wire's name. */
export type Says = Scenario | ((wire: Wire) => Scenario);

export interface QuartetVendor {
  readonly origin: string;
  readonly key: string;
  readonly requests: readonly ReceivedRequest[];
  /** Each call to the model takes the next scenario, all later ones the last. */
  script(model: string, ...scenarios: readonly [Scenario, ...Scenario[]]): void;
  unscript(): void;
  close(): Promise<void>;
}

export type QuartetVendors = Readonly<Record<Wire, QuartetVendor>>;

/** A scenario in the words of the chat-completions vendor; what its wire has no words for is left out. */
function chatScenario(scenario: Scenario): ChatScenario {
  const { toolCalls, citations, candidates, cached, usage, fail, sealed: _sealed, search: _search, pictures: _pictures, code: _code, blocked: _blocked, endlessLine: _line, ...rest } = scenario;
  const { reasoning, text, refusal, finish } = rest;
  const annotations = citations?.map(({ url, title }) => ({ type: 'url_citation', url_citation: { url, title, start_index: 0, end_index: 4 } }));
  const cachedUsage = cached === undefined ? undefined : { prompt_tokens_details: { cached_tokens: cached, audio_tokens: 0 } };
  return {
    ...rest,
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(text === undefined ? {} : { text }),
    ...(refusal === undefined ? {} : { refusal }),
    ...(finish === undefined ? {} : { finish }),
    ...(toolCalls ? { toolCalls: toolCalls.map(({ freeform, ...call }) => ({ ...call, type: freeform ? ('custom' as const) : ('function' as const) })) } : {}),
    ...(annotations ? { annotations } : {}),
    ...(candidates ? { candidates: candidates.map((said) => chatScenario(said)) } : {}),
    ...(usage === undefined && cachedUsage === undefined ? {} : { usage: usage ?? cachedUsage ?? {} }),
    ...(fail ? { fail: { ...fail, as: 'data' as const } } : {}),
  };
}

export async function startQuartetVendors(): Promise<QuartetVendors> {
  const chat = await startVendor();
  const [responses, messages, generateContent] = await Promise.all([startResponsesVendor(), startMessagesVendor(), startGenerateContentVendor()]);
  const originOf = (url: string): string => new URL(url).origin;
  return {
    'chat-completions': {
      origin: originOf(chat.url),
      key: chat.key,
      requests: chat.requests,
      script: (model, first, ...others) => chat.script(model, chatScenario(first), ...others.map(chatScenario)),
      unscript: () => chat.unscript(),
      close: () => chat.close(),
    },
    responses: { ...responses, origin: originOf(responses.url) },
    messages: { ...messages, origin: originOf(messages.url) },
    'generate-content': { ...generateContent, origin: originOf(generateContent.url) },
  };
}
