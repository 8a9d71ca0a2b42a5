/**
 * A vendor of chat-completions on loopback, as strict as the real one: it accepts only requests the real one
 * would accept, answers as the real one would, and misbehaves as a test asks it to. It shares no code with
 * the gateway, so that a mistake in the gateway's idea of the protocol cannot hide in both.
 */
import { check } from './chat-completions/check.ts';
import { streamFrames } from './chat-completions/chunks.ts';
import { buildCompletion } from './chat-completions/completion.ts';
import { compose } from './chat-completions/composition.ts';
import { defaultModels, type ModelFacts } from './chat-completions/models.ts';
import {
  buildOpenaiHeaders,
  checkKey,
  checkPath,
  complain,
  isJsonCall,
  openaiKey,
  refuse,
  reject,
} from './chat-completions/refusals.ts';
import type { ChatRequest } from './chat-completions/request.ts';
import type { WholeReply } from './delivery.ts';
import { findResponsesFacts } from './responses/models.ts';
import { ScriptBook } from './script-book.ts';
import type { ReceivedRequest } from './server.ts';
import { openStage, type Play, type Stage } from './stage.ts';

export { refusals } from './chat-completions/refusals.ts';

type Models = Readonly<Record<string, ModelFacts>>;

export type Vendor = Stage<ChatRequest>;

function listModels(models: Models): object[] {
  return Object.entries(models).map(([id, { listed }]) => ({
    id,
    object: 'model',
    created: 1_700_000_000,
    owned_by: 'system',
    ...listed,
  }));
}

/** The checks before any reading of a body: the key, the path, the content type. */
function checkArrival(received: ReceivedRequest): void {
  const { method, path, headers } = received;
  checkKey(headers);
  if (method === 'GET' && path.startsWith('/v1/models')) return;
  checkPath(received, '/v1/chat/completions');
  if (!isJsonCall(headers)) reject(complain('The content type has to be application/json.'));
}

/** A model of the responses wire's table is known here too, unless it speaks that wire alone. */
function findUsualFacts(model: string): ModelFacts | undefined {
  const facts = /-(pro|codex)/.test(model) ? undefined : findResponsesFacts(model);
  if (!facts) return undefined;
  const { efforts, contextLength, outputLimit } = facts;
  return {
    reasoning: efforts.length > 0,
    ...(efforts.length ? { efforts } : {}),
    ...describeTools(model),
    contextLength,
    outputLimit,
  };
}

/** GPT-5.4 does not reason unless it is asked to; later models do. */
function describeTools(model: string): Pick<ModelFacts, 'toolsUnlessReasoning'> {
  const [, minor] = /^gpt-5\.(\d)/.exec(model) ?? [];
  if (minor === undefined || Number(minor) < 4) return {};
  return { toolsUnlessReasoning: { default: minor === '4' ? 'none' : 'medium' } };
}

export function createChatPlay(own: Models = {}): Play<ChatRequest> {
  const models = { ...defaultModels, ...own };
  const scripts = new ScriptBook<ChatRequest>();
  const find = (model: string): ModelFacts | undefined =>
    models[model] ?? findUsualFacts(model) ?? (scripts.has(model) ? {} : undefined);

  function answerListing(path: string): WholeReply {
    const data = listModels(models);
    if (path === '/v1/models') return { status: 200, body: { object: 'list', data } };
    const one = data.find((model) => 'id' in model && path === `/v1/models/${String(model.id)}`);
    return one ? { status: 200, body: one } : refuse(complain(`Invalid URL (GET ${path})`), 404);
  }

  return {
    key: openaiKey,
    scripts,
    headers: [],
    buildUsualHeaders: buildOpenaiHeaders,
    judge(received) {
      checkArrival(received);
      if (received.method === 'GET') return answerListing(received.path);
      const { request, facts } = check(received.body, find);
      return {
        model: request.model,
        request,
        streamed: request.stream ?? false,
        compose(scenario) {
          const composition = compose(request, facts, scenario, received.number);
          return {
            whole: () => buildCompletion(composition),
            frames: () => streamFrames(composition),
            billed: composition.billed,
          };
        },
      };
    },
  };
}

/**
 * Starts it; its URL is what `OPENAI_BASE_URL` expects. `own` are models beside the usual ones, or with other
 * facts.
 */
export function startVendor(own?: Models): Promise<Vendor> {
  return openStage(createChatPlay(own), '/v1');
}
