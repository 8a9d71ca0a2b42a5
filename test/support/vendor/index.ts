/**
 * Strict fake vendors of the four text wires, on loopback. They answer only requests the real ones would
 * answer and refuse the rest in the vendor's own words, so that what a gateway makes of a request is held
 * against something that shares no code with it.
 *
 * const vendors = await startVendors();            // openai (chat-completions, responses), anthropic,
 * google, deepseek openai({ apiKey: vendors.openai.key, baseUrl: vendors.openai.url })          // for a
 * gateway's provider, or an SDK
 *
 * What a vendor says follows from the request: it calls the tools it is offered (three at most, at once where
 * that is allowed), answers tool results by naming them, thinks, searches and draws where asked to, keeps to
 * limits, stops and schemas, and otherwise says `Hello from <model>, this is answer 1.`
 *
 * A script says what a model does instead, call by call, the last step for all later ones; `*` alone is every
 * model:
 *
 * vendors.anthropic.script('claude-sonnet-4-5', { reasoning: 'Hm.', toolCalls: [{ name: 'find', arguments:
 * '{"a":1}' }] }, { text: 'Done.' }); vendors.script('*', { text: ['a', 'b', 'c'], cut: { how: 'rst', events:
 * 2 } });     // all vendors at once
 *
 * What is said: `text reasoning sealed refusal toolCalls search citations pictures sound code finish blocked
 * candidates`. How it goes wrong: `cut delayHeaders delayEvents hold holdAfter inserts fail endless
 * endlessLine overrun usage cached shape headers reply`, see `scenario.ts` and `delivery.ts`; whole refusals
 * are in `refusals` below. `inserts: [{ before: 2, frame: 'garbage\n\n' }]` is garbage at an event, `fail: {
 * after: 2 }` the wire's own error there.
 *
 * Each has `requests` (as they came: method, path, headers, `leaked`, body, when the peer closed) and
 * `journal` (what became of each: status, events, tokens, `billed`, how it ended). Token counts are by
 * `words.ts`. Opaque values (signatures, encrypted reasoning) are proven by a key of the vendor's and come
 * back byte for byte or are refused.
 *
 * `vendor-harness.ts` beside this folder is a gateway with the real providers before all of them, and
 * `sdk-clients.ts` the official SDKs as one kind of client; `call.ts` posts a body as it stands. What each
 * vendor refuses is listed, case by case, in `test/vendors/`.
 */
import { createChatPlay, startVendor, type Vendor } from './chat-completions.ts';
import { refusals as chatRefusals } from './chat-completions/refusals.ts';
import { startGenerateContentVendor, type GeminiRequest } from './generate-content.ts';
import { generateContentRefusals } from './generate-content/refusals.ts';
import { startMessagesVendor, type MessagesRequest } from './messages.ts';
import { messagesRefusals } from './messages/refusals.ts';
import { createResponsesPlay } from './responses.ts';
import { listen } from './server.ts';
import type { Stage, Step } from './stage.ts';

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
  const chat = createChatPlay();
  const responses = createResponsesPlay();
  const server = await listen(async (received, response, entry) => {
    const play = received.path.startsWith('/v1/responses') ? responses : chat;
    await play.answer({ received, response, entry });
  });
  return {
    url: `${server.origin}/v1`,
    key: chat.key,
    requests: server.requests,
    journal: server.journal,
    script(model, ...steps) {
      chat.scripts.set(model, steps);
      responses.scripts.set(model, steps);
    },
    unscript() {
      chat.scripts.clear();
      responses.scripts.clear();
    },
    openConnections: () => server.openConnections(),
    close: () => server.close(),
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
