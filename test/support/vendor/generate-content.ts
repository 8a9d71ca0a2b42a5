/**
 * A vendor of generate-content on loopback, as strict as Google's: it accepts only requests the real one
 * would accept, answers as the real one would, and misbehaves as a test asks it to. It shares no code with
 * the gateway.
 */
import { isObject } from '../json.ts';
import type { WholeReply } from './delivery.ts';
import { compose } from './generate-content/composition.ts';
import { checkConversation } from './generate-content/conversation.ts';
import { geminiMessages, vertexMessages } from './generate-content/messages.ts';
import { anyGemini, findGeminiFacts, type GeminiFacts } from './generate-content/models.ts';
import { ProtoReader } from './generate-content/proto.ts';
import { refuseViolations, missingKey, refuse, refuseModel, wrongKey } from './generate-content/refusals.ts';
import { streamArrayFrames, streamEventFrames, buildReply } from './generate-content/reply.ts';
import { requestSchema, type GeminiRequest } from './generate-content/request.ts';
import { rules } from './generate-content/rules.ts';
import { countPrompt, sumTokens } from './generate-content/usage.ts';
import { readBody } from './json-body.ts';
import type { Scenario } from './scenario.ts';
import { ScriptBook } from './script-book.ts';
import { Seals } from './seal.ts';
import { sendStream, sendWhole } from './sending.ts';
import type { ReceivedRequest } from './server.ts';
import { openStage, type Play, type PlayedCall, type Stage } from './stage.ts';

export { generateContentRefusals } from './generate-content/refusals.ts';
export type { GeminiRequest } from './generate-content/request.ts';

const usualHeaders = {
  'content-type': 'application/json; charset=UTF-8',
  server: 'scaffolding on HTTPServer2',
  vary: 'Origin',
  'x-xss-protection': '0',
  'x-frame-options': 'SAMEORIGIN',
  'server-timing': 'gfet4t7; dur=12',
};

interface Address {
  readonly model: string;
  readonly method: string;
  readonly vertex: boolean;
  readonly sse: boolean;
}

const methods = new Set(['generateContent', 'streamGenerateContent', 'countTokens']);

const inProject = /1(\/projects\/[^/]+\/locations\/[^/]+\/publishers\/google)/.source;
const address = new RegExp(`^/(?:v1|v1beta)(?:${inProject})?/models/([^/:]+):(\\w+)$`);

/** The model and the method are in the path, on Google's own host or below a Vertex project. */
function readAddress(path: string): Address | undefined {
  const { pathname, searchParams } = new URL(path, 'http://vendor');
  const [, project, model, method] = address.exec(pathname) ?? [];
  if (!model || !method || !methods.has(method)) return undefined;
  return { model, method, vertex: project !== undefined, sse: searchParams.get('alt') === 'sse' };
}

function checkArrival({ method, path, headers }: ReceivedRequest, key: string): WholeReply | undefined {
  if (method !== 'POST' || !readAddress(path))
    return {
      status: 404,
      headers: { 'content-type': 'text/html; charset=UTF-8' },
      body: '<!DOCTYPE html><title>Error 404 (Not Found)!!1</title>',
    };
  const bearer = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1];
  const shown =
    headers['x-goog-api-key'] ?? new URL(path, 'http://vendor').searchParams.get('key') ?? undefined;
  if (shown === undefined && bearer === undefined) return missingKey;
  if (shown !== undefined) return shown === key ? undefined : wrongKey;
  return bearer === key
    ? undefined
    : refuse({
        code: 401,
        status: 'UNAUTHENTICATED',
        message:
          'Request had invalid authentication credentials. ' +
          'Expected OAuth 2 access token, login cookie or other valid authentication credential.',
      });
}

type Read = { readonly request: GeminiRequest } | { readonly refusal: WholeReply };

/** Passed a body and the message it is to be; the answer is the request in it. */
function read(bytes: Buffer, { method, vertex }: Address): Read {
  const json = readBody(bytes);
  if ('fault' in json) {
    const message =
      json.fault === 'repeated'
        ? `Invalid JSON payload received. Duplicate field "${json.name}".`
        : 'Invalid JSON payload received. Unexpected end of string.';
    return { refusal: refuse({ message }) };
  }
  const reader = new ProtoReader(vertex ? vertexMessages : geminiMessages);
  const value = reader.read(
    json.body,
    method === 'countTokens' ? 'CountTokensRequest' : 'GenerateContentRequest',
    '',
  );
  if (reader.violations.length) return { refusal: refuseViolations(reader.violations) };
  const inner =
    isObject(value) && isObject(value.generateContentRequest) ? value.generateContentRequest : value;
  return { request: requestSchema.parse(inner) };
}

function createGenerateContentPlay(): Play<GeminiRequest> {
  const key = 'AIzaVendor0123456789';
  const seals = new Seals('generate-content');
  const scripts = new ScriptBook<GeminiRequest, Scenario>({});
  const find = (model: string): GeminiFacts | undefined =>
    findGeminiFacts(model) ?? (scripts.has(model) ? anyGemini : undefined);

  function check(
    address: Address,
    body: Buffer,
  ): { readonly request: GeminiRequest; readonly facts: GeminiFacts } | { readonly refusal: WholeReply } {
    const { model, method } = address;
    const facts = find(model);
    if (!facts) return { refusal: refuseModel(model, method) };
    const known = read(body, address);
    if ('refusal' in known) return known;
    const { request } = known;
    const fault =
      rules.map((rule) => rule(request, facts)).find(Boolean) ?? checkConversation(request, facts, seals);
    if (fault) return { refusal: refuse({ message: fault }) };
    const prompt = sumTokens(countPrompt(request));
    if (prompt <= facts.contextLength) return { request, facts };
    return {
      refusal: refuse({
        message:
          `The input token count (${prompt}) exceeds the maximum number ` +
          `of tokens allowed (${facts.contextLength}).`,
      }),
    };
  }

  async function perform(
    { received, response, entry }: PlayedCall,
    address: Address,
    request: GeminiRequest,
    facts: GeminiFacts,
  ): Promise<void> {
    const { model, method, sse } = address;
    entry.stream = method === 'streamGenerateContent';
    const scenario = await scripts.takeScenario(model, request, received);
    if (scenario.reply) return sendWhole(scenario.reply, usualHeaders, scenario, response, entry);
    const composition = compose({ request, model, facts, scenario, number: received.number, seals });
    if (scenario.shape ? scenario.shape === 'stream' : entry.stream) {
      const frames = sse ? streamEventFrames(composition) : streamArrayFrames(composition);
      const contentType = sse ? { 'content-type': 'text/event-stream' } : {};
      await sendStream(frames, { ...usualHeaders, ...contentType }, scenario, response, entry);
    } else {
      await sendWhole(
        { status: 200, headers: scenario.headers ?? {}, body: buildReply(composition) },
        usualHeaders,
        scenario,
        response,
        entry,
      );
      entry.tokens = entry.end === 'complete' ? composition.billed.completion : 0;
    }
    entry.billed = { prompt: composition.billed.prompt, completion: entry.tokens };
    return undefined;
  }

  return {
    key,
    scripts,
    headers: ['x-goog-api-key'],
    async answer(call) {
      const { received, response, entry } = call;
      const respond = (reply: WholeReply): Promise<void> =>
        sendWhole(reply, usualHeaders, {}, response, entry);
      const stopped = checkArrival(received, key);
      if (stopped) return respond(stopped);
      const address = readAddress(received.path);
      if (!address) return respond(missingKey);
      const checked = check(address, received.body);
      if ('refusal' in checked) return respond(checked.refusal);
      const { request, facts } = checked;
      entry.model = address.model;
      if (address.method !== 'countTokens') return perform(call, address, request, facts);
      const details = countPrompt(request);
      return respond({
        status: 200,
        body: { totalTokens: sumTokens(details), promptTokensDetails: details },
      });
    },
  };
}

/** Starts it; its URL is what `GOOGLE_GEMINI_BASE_URL` expects. */
export function startGenerateContentVendor(): Promise<Stage<GeminiRequest>> {
  return openStage(createGenerateContentPlay());
}
