/**
 * A vendor of chat-completions on loopback, as strict as the real one: it accepts only requests the real one
 * would accept, answers as the real one would, and misbehaves as a test asks it to. It shares no code with
 * the gateway, so that a mistake in the gateway's idea of the protocol cannot hide in both.
 */
import type { ServerResponse } from 'node:http';
import { check } from './chat-completions/check.ts';
import { streamFrames } from './chat-completions/chunks.ts';
import { buildCompletion } from './chat-completions/completion.ts';
import { compose, type Composition } from './chat-completions/composition.ts';
import { defaultModels, type ModelFacts } from './chat-completions/models.ts';
import { checkKey, checkPath, isJsonCall, refuse } from './chat-completions/refusals.ts';
import type { ChatRequest } from './chat-completions/request.ts';
import type { Scenario } from './chat-completions/scenario.ts';
import type { WholeReply } from './delivery.ts';
import { findResponsesFacts } from './responses/models.ts';
import { ScriptBook } from './script-book.ts';
import { sendStream, sendWhole } from './sending.ts';
import type { JournalEntry, ReceivedRequest } from './server.ts';
import { openStage, type Play, type Stage } from './stage.ts';

export { refusals } from './chat-completions/refusals.ts';

type Models = Readonly<Record<string, ModelFacts>>;

export type Vendor = Stage<ChatRequest, Scenario>;

/** Headers of every reply: most are about the vendor's account, and a gateway must not pass them on. */
function buildUsualHeaders(id: string): Record<string, string | readonly string[]> {
  return {
    'x-request-id': id,
    'openai-organization': 'org-fake',
    'openai-processing-ms': '12',
    'openai-version': '2020-10-01',
    'openai-project': 'proj_fake',
    'x-ratelimit-limit-requests': '500',
    'x-ratelimit-remaining-requests': '499',
    'x-ratelimit-reset-requests': '120ms',
    'x-ratelimit-limit-tokens': '200000',
    'x-ratelimit-remaining-tokens': '199000',
    'x-ratelimit-reset-tokens': '2ms',
    'set-cookie': ['__cf_bm=fake; path=/; HttpOnly', '_cfuvid=fake; path=/'],
    server: 'cloudflare',
    'cf-ray': '0000000000000000-LHR',
    'cf-cache-status': 'DYNAMIC',
    'alt-svc': 'h3=":443"; ma=86400',
    'strict-transport-security': 'max-age=31536000',
  };
}

async function sendReply(
  composition: Composition,
  streamed: boolean,
  response: ServerResponse,
  entry: JournalEntry,
): Promise<void> {
  const { scenario, billed } = composition;
  if (!streamed) {
    await sendWhole(
      { status: 200, headers: scenario.headers ?? {}, body: buildCompletion(composition) },
      buildUsualHeaders(entry.id),
      scenario,
      response,
      entry,
    );
    entry.tokens = entry.end === 'complete' ? billed.completion : 0;
  } else {
    const headers = {
      ...buildUsualHeaders(entry.id),
      'content-type': 'text/event-stream; charset=utf-8',
      ...scenario.headers,
    };
    await sendStream(streamFrames(composition), headers, scenario, response, entry);
  }
  entry.billed = { prompt: billed.prompt, completion: entry.tokens };
}

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
function checkArrival(received: ReceivedRequest, key: string): WholeReply | undefined {
  const { method, path, headers } = received;
  const refused = checkKey(headers, key);
  if (refused || (method === 'GET' && path.startsWith('/v1/models'))) return refused;
  const wrong = { message: 'The content type has to be application/json.', code: null };
  return checkPath(received, '/v1/chat/completions') ?? (isJsonCall(headers) ? undefined : refuse(wrong));
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

export function createChatPlay(own: Models = {}): Play<ChatRequest, Scenario> {
  const key = 'sk-vendor-0123456789';
  const models = { ...defaultModels, ...own };
  const scripts = new ScriptBook<ChatRequest, Scenario>({});
  const find = (model: string): ModelFacts | undefined =>
    models[model] ?? findUsualFacts(model) ?? (scripts.has(model) ? {} : undefined);

  function answerListing(path: string): WholeReply {
    const data = listModels(models);
    if (path === '/v1/models') return { status: 200, body: { object: 'list', data } };
    const one = data.find((model) => 'id' in model && path === `/v1/models/${String(model.id)}`);
    return one
      ? { status: 200, body: one }
      : refuse({ message: `Invalid URL (GET ${path})`, code: null }, 404);
  }

  return {
    key,
    scripts,
    headers: [],
    async answer({ received, response, entry }) {
      const respond = (reply: WholeReply, scenario: Scenario = {}): Promise<void> =>
        sendWhole(reply, buildUsualHeaders(entry.id), scenario, response, entry);
      const refused = checkArrival(received, key);
      if (refused) return respond(refused);
      if (received.method === 'GET') return respond(answerListing(received.path));
      const checked = check(received.body, find);
      if ('refusal' in checked) return respond(checked.refusal);
      const { request, facts } = checked;
      entry.model = request.model;
      entry.stream = request.stream ?? false;
      const scenario = await scripts.takeScenario(request.model, request, received);
      if (scenario.reply) return respond(scenario.reply, scenario);
      const composition = compose(request, facts, scenario, received.number);
      return sendReply(
        composition,
        scenario.shape ? scenario.shape === 'stream' : entry.stream,
        response,
        entry,
      );
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
