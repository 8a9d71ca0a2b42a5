/**
 * A vendor of messages on loopback, as strict as Anthropic's: it accepts only requests the real one would
 * accept, answers as the real one would, and misbehaves as a test asks it to. It shares no code with the
 * gateway.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { WholeReply } from './delivery.ts';
import { readBody } from './json-body.ts';
import { checkCache, PromptCache } from './messages/cache.ts';
import { describeIssue } from './messages/complaints.ts';
import { compose, countPromptTokens } from './messages/composition.ts';
import { checkConversation } from './messages/conversation.ts';
import { anyClaude, findClaudeFacts, type ClaudeFacts } from './messages/models.ts';
import { refuse, type Complaint } from './messages/refusals.ts';
import { streamFrames, buildMessage } from './messages/reply.ts';
import {
  betaFields,
  countSchema,
  requestSchema,
  type CountRequest,
  type MessagesRequest,
} from './messages/request.ts';
import { rules } from './messages/rules.ts';
import type { Scenario } from './scenario.ts';
import { ScriptBook } from './script-book.ts';
import { Seals } from './seal.ts';
import { sendStream, sendWhole } from './sending.ts';
import { openStage, type Play, type Stage } from './stage.ts';

export { messagesRefusals } from './messages/refusals.ts';
export type { MessagesRequest } from './messages/request.ts';

interface MessagesVendorOptions {
  /** Models beside the usual ones, or with other facts. */
  readonly models?: Readonly<Record<string, Partial<ClaudeFacts>>>;
}

const versions = ['2023-06-01', '2026-10-21'];

function readHeader(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}

function buildUsualHeaders(id: string): Record<string, string> {
  return {
    'request-id': id,
    'anthropic-organization-id': '00000000-0000-4000-8000-000000000000',
    'anthropic-ratelimit-requests-limit': '4000',
    'anthropic-ratelimit-requests-remaining': '3999',
    server: 'cloudflare',
    'cf-ray': '0000000000000000-LHR',
    'set-cookie': '_cfuvid=fake; path=/',
    via: '1.1 google',
  };
}

/** The checks before any reading of a body: the path, the key, the version. */
function checkArrival(
  method: string,
  path: string,
  headers: IncomingHttpHeaders,
  key: string,
): { readonly complaint: Complaint; readonly status: number } | undefined {
  if (path !== '/v1/messages' && path !== '/v1/messages/count_tokens')
    return { complaint: { type: 'not_found_error', message: 'Not found' }, status: 404 };
  if (method !== 'POST') return { complaint: { message: 'Method Not Allowed' }, status: 405 };
  const bearer = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1];
  const shown = readHeader(headers, 'x-api-key') ?? bearer;
  if (shown !== key) {
    const message =
      shown === undefined
        ? 'x-api-key header is required'
        : bearer === shown
          ? 'Invalid bearer token'
          : 'invalid x-api-key';
    return { complaint: { type: 'authentication_error', message }, status: 401 };
  }
  const version = readHeader(headers, 'anthropic-version');
  if (version === undefined)
    return { complaint: { message: 'anthropic-version: header is required' }, status: 400 };
  if (!versions.includes(version))
    return { complaint: { message: `anthropic-version: "${version}" is not a valid version` }, status: 400 };
  const isJson = /^application\/json\s*(;|$)/.test(headers['content-type'] ?? '');
  return isJson
    ? undefined
    : { complaint: { message: 'content-type: application/json is required' }, status: 400 };
}

/** The fields a request may hold beside the published ones. */
function listExtraFields(headers: IncomingHttpHeaders, facts: ClaudeFacts | undefined): readonly string[] {
  const betas = (readHeader(headers, 'anthropic-beta') ?? '').split(',').map((beta) => beta.trim());
  const opened = Object.entries(betaFields).flatMap(([beta, fields]) =>
    betas.some((named) => named.startsWith(beta)) ? fields : [],
  );
  return [...opened, ...(facts?.fields ?? [])];
}

type Checked<Request> =
  | { readonly request: Request; readonly facts: ClaudeFacts }
  | { readonly complaint: Complaint; readonly status?: number };

function createMessagesPlay(options: MessagesVendorOptions = {}): Play<MessagesRequest> {
  const key = 'sk-ant-vendor-0123456789';
  const seals = new Seals('messages');
  const cache = new PromptCache();
  const scripts = new ScriptBook<MessagesRequest, Scenario>({});
  const find = (model: string): ClaudeFacts | undefined => {
    const own = options.models?.[model];
    const usual = findClaudeFacts(model) ?? (own || scripts.has(model) ? anyClaude : undefined);
    return usual && { ...usual, ...own };
  };

  function check<Request extends CountRequest>(
    bytes: Buffer,
    headers: IncomingHttpHeaders,
    read: (body: object) => Read<Request>,
  ): Checked<Request> {
    const json = readBody(bytes);
    if ('fault' in json)
      return {
        complaint: {
          message:
            json.fault === 'repeated'
              ? `The request body is not valid JSON: duplicate key "${json.name}"`
              : 'The request body is not valid JSON: could not parse it',
        },
      };
    const named = typeof json.body.model === 'string' ? find(json.body.model) : undefined;
    const extra = listExtraFields(headers, named);
    const parsed = read(
      Object.fromEntries(Object.entries(json.body).filter(([field]) => !extra.includes(field))),
    );
    if ('fault' in parsed) return { complaint: { message: parsed.fault } };
    const { request } = parsed;
    if (!named)
      return { complaint: { type: 'not_found_error', message: `model: ${request.model}` }, status: 404 };
    const version = readHeader(headers, 'anthropic-version') ?? '';
    const fault =
      rules.map((rule) => rule({ request, facts: named, version })).find(Boolean) ??
      checkCache(request) ??
      checkConversation(request, named, seals);
    if (fault) return { complaint: { message: fault } };
    const prompt = countPromptTokens(request);
    if (prompt > named.contextLength)
      return {
        complaint: { message: `prompt is too long: ${prompt} tokens > ${named.contextLength} maximum` },
      };
    return { request, facts: named };
  }

  return {
    key,
    scripts,
    headers: ['x-api-key', 'anthropic-version'],
    async answer({ received, response, entry }) {
      const respond = (reply: WholeReply, scenario: Scenario = {}): Promise<void> =>
        sendWhole(reply, buildUsualHeaders(entry.id), scenario, response, entry);
      const path = received.path.replace(/\?beta=true$/, '');
      const stopped = checkArrival(received.method, path, received.headers, key);
      if (stopped) return respond(refuse(stopped.complaint, entry.id, stopped.status));
      if (path.endsWith('/count_tokens')) {
        const counted = check(received.body, received.headers, readCount);
        if ('complaint' in counted) return respond(refuse(counted.complaint, entry.id, counted.status));
        entry.model = counted.request.model;
        return respond({ status: 200, body: { input_tokens: countPromptTokens(counted.request) } });
      }
      const checked = check(received.body, received.headers, readRequest);
      if ('complaint' in checked) return respond(refuse(checked.complaint, entry.id, checked.status));
      const { request, facts } = checked;
      entry.model = request.model;
      entry.stream = request.stream ?? false;
      const scenario = await scripts.takeScenario(request.model, request, received);
      if (scenario.reply) return respond(scenario.reply, scenario);
      const composition = compose({
        request,
        facts,
        scenario,
        number: received.number,
        cached: cache.use(request),
        seals,
      });
      const streamed = scenario.shape ? scenario.shape === 'stream' : entry.stream;
      if (streamed) {
        const headers = {
          'content-type': 'text/event-stream; charset=utf-8',
          ...buildUsualHeaders(entry.id),
        };
        await sendStream(streamFrames(composition, entry.id), headers, scenario, response, entry);
      } else {
        await respond(
          { status: 200, headers: scenario.headers ?? {}, body: buildMessage(composition) },
          scenario,
        );
        entry.tokens = entry.end === 'complete' ? composition.billed.completion : 0;
      }
      entry.billed = { prompt: composition.billed.prompt, completion: entry.tokens };
    },
  };
}

type Read<Request> = { readonly request: Request } | { readonly fault: string };

function readRequest(body: object): Read<MessagesRequest> {
  const parsed = requestSchema.safeParse(body, { reportInput: true });
  const [issue] = parsed.error?.issues ?? [];
  return parsed.success
    ? { request: parsed.data }
    : { fault: issue ? describeIssue(issue) : 'Invalid request' };
}

function readCount(body: object): Read<CountRequest> {
  const parsed = countSchema.safeParse(body, { reportInput: true });
  const [issue] = parsed.error?.issues ?? [];
  return parsed.success
    ? { request: parsed.data }
    : { fault: issue ? describeIssue(issue) : 'Invalid request' };
}

/** Starts it; its URL is what `ANTHROPIC_BASE_URL` expects. */
export function startMessagesVendor(options: MessagesVendorOptions = {}): Promise<Stage<MessagesRequest>> {
  return openStage(createMessagesPlay(options));
}
