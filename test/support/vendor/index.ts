/**
 * Strict fake vendors of the four text wires, on loopback. They answer only requests that the real ones
 * would answer, and refuse the rest in the vendor's own words. They share no code with the gateway.
 *
 * `startVendors()` starts OpenAI (chat-completions and responses), Anthropic, Google and DeepSeek. A
 * gateway's provider, or an SDK, takes a vendor's `key` and `url`.
 *
 * A reply follows from the request: the vendor calls the tools that it is offered (three at most, at once
 * where that is allowed), answers tool results by their names, thinks, searches and draws if it is asked to,
 * keeps to limits, stops and schemas, and otherwise says `Hello from <model>, this is answer 1.`
 *
 * `vendor.script('claude-sonnet-4-5', first, second)` sets what a model does instead: its next call takes the
 * first step, all later ones the last. `*` is every model, and `vendors.script` sets it at all vendors.
 * `scenario.ts` and `delivery.ts` list what a step can say and how it can go wrong, such as `{ text: ['a',
 * 'b'], cut: { how: 'rst', events: 1 } }`; whole refusals are in `refusals` below.
 *
 * `requests` has what arrived, and `journal` what became of each: its status, events, tokens, `billed`, and
 * how it ended. Token counts are by `words.ts`. Opaque values (signatures, encrypted reasoning) are signed
 * with a key of the vendor, and are refused unless they come back byte for byte.
 *
 * `vendor-harness.ts` beside this folder is a gateway with the real providers in front of all of them,
 * `sdk-clients.ts` has the official SDKs as one kind of client, and `call.ts` posts a body unchanged.
 * `test/vendors` lists what each vendor refuses.
 */
import { createChatPlay, startVendor, type Vendor } from './chat-completions.ts';
import { refusals as chatRefusals } from './chat-completions/refusals.ts';
import { startGenerateContentVendor, type GeminiRequest } from './generate-content.ts';
import { generateContentRefusals } from './generate-content/refusals.ts';
import { startMessagesVendor, type MessagesRequest } from './messages.ts';
import { messagesRefusals } from './messages/refusals.ts';
import { createResponsesPlay } from './responses.ts';
import { listen } from './server.ts';
import { playCall, type Stage, type Step } from './stage.ts';

export { startVendor as startChatVendor } from './chat-completions.ts';
export { startGenerateContentVendor } from './generate-content.ts';
export { startMessagesVendor } from './messages.ts';
export { startResponsesVendor } from './responses.ts';
export type { Scenario } from './scenario.ts';
export type { JournalEntry, ReceivedRequest } from './server.ts';
export type { Stage } from './stage.ts';

/** Refusals a scenario can give whatever the request says: `{ reply: refusals.messages.overloaded }`. */
export const refusals = {
  'chat-completions': chatRefusals,
  responses: chatRefusals,
  messages: messagesRefusals,
  'generate-content': generateContentRefusals,
};

/** OpenAI has two wires at one address. */
export async function startOpenaiVendor(): Promise<Stage> {
  const [chat, responses] = [createChatPlay(), createResponsesPlay()];
  const { origin, ...server } = await listen((received, response, entry) =>
    received.path.startsWith('/v1/responses')
      ? playCall(responses, received, response, entry)
      : playCall(chat, received, response, entry),
  );
  return {
    ...server,
    url: `${origin}/v1`,
    key: chat.key,
    script(model, ...steps) {
      chat.scripts.set(model, steps);
      responses.scripts.set(model, steps);
    },
    unscript() {
      chat.scripts.clear();
      responses.scripts.clear();
    },
  };
}

const deepseekFacts = {
  contextLength: 1_000_000,
  outputLimit: 384_000,
  extensions: { fields: ['thinking', 'reasoning_effort'], messageFields: ['reasoning_content'] },
};

/** A vendor of chat-completions that tells its thoughts. */
function startDeepseekVendor(): Promise<Vendor> {
  const thinkers = ['deepseek-v4-flash', 'deepseek-v4-pro'];
  const models = Object.fromEntries(
    thinkers.map((name) => [name, { ...deepseekFacts, wantsThoughts: true }]),
  );
  return startVendor({
    ...models,
    'deepseek-chat': { ...deepseekFacts, jsonAlone: true },
    'deepseek-reasoner': { ...deepseekFacts, wantsThoughts: true, jsonAlone: true },
  });
}

export interface Vendors {
  readonly openai: Stage;
  readonly anthropic: Stage<MessagesRequest>;
  readonly google: Stage<GeminiRequest>;
  readonly deepseek: Vendor;
  /** The same script for a model of whichever vendor. */
  script(model: string, ...steps: readonly [Step, ...Step[]]): void;
  unscript(): void;
  close(): Promise<void>;
}

export async function startVendors(): Promise<Vendors> {
  const [openai, anthropic, google, deepseek] = await Promise.all([
    startOpenaiVendor(),
    startMessagesVendor(),
    startGenerateContentVendor(),
    startDeepseekVendor(),
  ]);
  const all = [openai, anthropic, google, deepseek];
  return {
    openai,
    anthropic,
    google,
    deepseek,
    script(model, ...steps) {
      for (const vendor of all) vendor.script(model, ...steps);
    },
    unscript() {
      for (const vendor of all) vendor.unscript();
    },
    async close() {
      await Promise.all(all.map((vendor) => vendor.close()));
    },
  };
}
