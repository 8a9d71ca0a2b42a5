/**
 * A vendor of generate-content on loopback, as strict as Google's: it accepts only requests the real one
 * would accept, answers as the real one would, and misbehaves as a test asks it to. It shares no code with
 * the gateway.
 */
import { isObject } from '../json.ts';
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
import { ScriptBook } from './script-book.ts';
import { Seals } from './seal.ts';
import type { ReceivedRequest } from './server.ts';
import { openStage, Refused, type Play, type Stage } from './stage.ts';

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

/** The checks before any reading of a body: the path, and the key, which may come in three places. */
function checkArrival({ method, path, headers }: ReceivedRequest, key: string): Address {
  const address = readAddress(path);
  if (method !== 'POST' || !address)
    throw new Refused({
      status: 404,
      headers: { 'content-type': 'text/html; charset=UTF-8' },
      body: '<!DOCTYPE html><title>Error 404 (Not Found)!!1</title>',
    });
  const bearer = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1];
  const shown =
    headers['x-goog-api-key'] ?? new URL(path, 'http://vendor').searchParams.get('key') ?? undefined;
  if (shown === undefined && bearer === undefined) throw new Refused(missingKey);
  if (shown !== undefined && shown !== key) throw new Refused(wrongKey);
  if (shown === undefined && bearer !== key)
    throw new Refused(
      refuse({
        code: 401,
        status: 'UNAUTHENTICATED',
        message:
          'Request had invalid authentication credentials. ' +
          'Expected OAuth 2 access token, login cookie or other valid authentication credential.',
      }),
    );
  return address;
}

/** Takes a body and the message it is to be; returns the request in it. */
function read(bytes: Buffer, { method, vertex }: Address): GeminiRequest {
  const json = readBody(bytes, (twice) => {
    const fault = twice === undefined ? 'Unexpected end of string.' : `Duplicate field "${twice}".`;
    return refuse({ message: `Invalid JSON payload received. ${fault}` });
  });
  const reader = new ProtoReader(vertex ? vertexMessages : geminiMessages);
  const kind = method === 'countTokens' ? 'CountTokensRequest' : 'GenerateContentRequest';
  const value = reader.read(json, kind, '');
  if (reader.violations.length) throw new Refused(refuseViolations(reader.violations));
  const inner =
    isObject(value) && isObject(value.generateContentRequest) ? value.generateContentRequest : value;
  return requestSchema.parse(inner);
}

function createGenerateContentPlay(): Play<GeminiRequest> {
  const key = 'AIzaVendor0123456789';
  const seals = new Seals('generate-content');
  const scripts = new ScriptBook<GeminiRequest>();
  const find = (model: string): GeminiFacts | undefined =>
    findGeminiFacts(model) ?? (scripts.has(model) ? anyGemini : undefined);

  function check(
    address: Address,
    body: Buffer,
  ): { readonly request: GeminiRequest; readonly facts: GeminiFacts } {
    const facts = find(address.model);
    if (!facts) throw new Refused(refuseModel(address.model, address.method));
    const request = read(body, address);
    const fault =
      rules.map((rule) => rule(request, facts)).find(Boolean) ?? checkConversation(request, facts, seals);
    if (fault) throw new Refused(refuse({ message: fault }));
    const prompt = sumTokens(countPrompt(request));
    if (prompt <= facts.contextLength) return { request, facts };
    const message =
      `The input token count (${prompt}) exceeds the maximum number ` +
      `of tokens allowed (${facts.contextLength}).`;
    throw new Refused(refuse({ message }));
  }

  return {
    key,
    scripts,
    headers: ['x-goog-api-key'],
    buildUsualHeaders: () => usualHeaders,
    judge(received, entry) {
      const address = checkArrival(received, key);
      const { model, method, sse } = address;
      const { request, facts } = check(address, received.body);
      if (method === 'countTokens') {
        entry.model = model;
        const details = countPrompt(request);
        return { status: 200, body: { totalTokens: sumTokens(details), promptTokensDetails: details } };
      }
      return {
        model,
        request,
        streamed: method === 'streamGenerateContent',
        streamType: sse ? 'text/event-stream' : usualHeaders['content-type'],
        compose(scenario) {
          const composition = compose({ request, model, facts, scenario, number: received.number, seals });
          return {
            whole: () => buildReply(composition),
            frames: () => (sse ? streamEventFrames : streamArrayFrames)(composition),
            billed: composition.billed,
          };
        },
      };
    },
  };
}

/** Starts it; its URL is what `GOOGLE_GEMINI_BASE_URL` expects. */
export function startGenerateContentVendor(): Promise<Stage<GeminiRequest>> {
  return openStage(createGenerateContentPlay());
}
