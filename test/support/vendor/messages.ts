/**
 * A vendor of messages on loopback, as strict as Anthropic's: it accepts only requests the real one would
 * accept, answers as the real one would, and misbehaves as a test asks it to. It shares no code with the
 * gateway.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { z } from 'zod';
import { readBody } from './json-body.ts';
import { checkCache, PromptCache } from './messages/cache.ts';
import { describeIssue } from './messages/complaints.ts';
import { compose, countPromptTokens } from './messages/composition.ts';
import { checkConversation } from './messages/conversation.ts';
import { anyClaude, findClaudeFacts, type ClaudeFacts } from './messages/models.ts';
import { refuse } from './messages/refusals.ts';
import { streamFrames, buildMessage } from './messages/reply.ts';
import {
  betaFields,
  countSchema,
  requestSchema,
  type CountRequest,
  type MessagesRequest,
} from './messages/request.ts';
import { rules } from './messages/rules.ts';
import { ScriptBook } from './script-book.ts';
import { Seals } from './seal.ts';
import type { JournalEntry, ReceivedRequest } from './server.ts';
import { openStage, Refused, type Play, type Stage } from './stage.ts';

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

type Reject = (message: string, status?: number, type?: string) => never;

/** The checks before any reading of a body: the path, the key, the version. */
function checkArrival({ method, path, headers }: ReceivedRequest, key: string, reject: Reject): void {
  if (!/^\/v1\/messages(\/count_tokens)?(\?beta=true)?$/.test(path))
    reject('Not found', 404, 'not_found_error');
  if (method !== 'POST') reject('Method Not Allowed', 405);
  const bearer = /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1];
  const shown = readHeader(headers, 'x-api-key') ?? bearer;
  if (shown === undefined) reject('x-api-key header is required', 401, 'authentication_error');
  if (shown !== key)
    reject(bearer === shown ? 'Invalid bearer token' : 'invalid x-api-key', 401, 'authentication_error');
  const version = readHeader(headers, 'anthropic-version');
  if (version === undefined) return reject('anthropic-version: header is required');
  if (!versions.includes(version)) reject(`anthropic-version: "${version}" is not a valid version`);
  if (!/^application\/json\s*(;|$)/.test(headers['content-type'] ?? ''))
    reject('content-type: application/json is required');
}

/** The fields a request may hold beside the published ones. */
function listExtraFields(headers: IncomingHttpHeaders, facts: ClaudeFacts | undefined): readonly string[] {
  const betas = (readHeader(headers, 'anthropic-beta') ?? '').split(',').map((beta) => beta.trim());
  const opened = Object.entries(betaFields).flatMap(([beta, fields]) =>
    betas.some((named) => named.startsWith(beta)) ? fields : [],
  );
  return [...opened, ...(facts?.fields ?? [])];
}

function createMessagesPlay(options: MessagesVendorOptions = {}): Play<MessagesRequest> {
  const key = 'sk-ant-vendor-0123456789';
  const seals = new Seals('messages');
  const cache = new PromptCache();
  const scripts = new ScriptBook<MessagesRequest>();
  const find = (model: string): ClaudeFacts | undefined => {
    const own = options.models?.[model];
    const usual = findClaudeFacts(model) ?? (own || scripts.has(model) ? anyClaude : undefined);
    return usual && { ...usual, ...own };
  };

  function check<Request extends CountRequest>(
    { body: bytes, headers }: ReceivedRequest,
    schema: z.ZodType<Request>,
    reject: Reject,
    { id }: JournalEntry,
  ): { readonly request: Request; readonly facts: ClaudeFacts } {
    const body = readBody(bytes, (twice) => {
      const fault = twice === undefined ? 'could not parse it' : `duplicate key "${twice}"`;
      return refuse({ message: `The request body is not valid JSON: ${fault}` }, id);
    });
    const facts = typeof body.model === 'string' ? find(body.model) : undefined;
    const extra = listExtraFields(headers, facts);
    const known = Object.fromEntries(Object.entries(body).filter(([field]) => !extra.includes(field)));
    const { data: request, error } = schema.safeParse(known, { reportInput: true });
    const [issue] = error?.issues ?? [];
    if (!request) return reject(issue ? describeIssue(issue) : 'Invalid request');
    if (!facts) return reject(`model: ${request.model}`, 404, 'not_found_error');
    const version = readHeader(headers, 'anthropic-version') ?? '';
    const fault =
      rules.map((rule) => rule({ request, facts, version })).find(Boolean) ??
      checkCache(request) ??
      checkConversation(request, facts, seals);
    if (fault) reject(fault);
    const prompt = countPromptTokens(request);
    if (prompt > facts.contextLength)
      reject(`prompt is too long: ${prompt} tokens > ${facts.contextLength} maximum`);
    return { request, facts };
  }

  return {
    key,
    scripts,
    headers: ['x-api-key', 'anthropic-version'],
    buildUsualHeaders,
    judge(received, entry) {
      const reject: Reject = (message, status, type) => {
        throw new Refused(refuse({ message, ...(type === undefined ? {} : { type }) }, entry.id, status));
      };
      checkArrival(received, key, reject);
      if (/\/count_tokens\b/.test(received.path)) {
        const { request } = check(received, countSchema, reject, entry);
        entry.model = request.model;
        return { status: 200, body: { input_tokens: countPromptTokens(request) } };
      }
      const { request, facts } = check(received, requestSchema, reject, entry);
      return {
        model: request.model,
        request,
        streamed: request.stream ?? false,
        compose(scenario) {
          const composition = compose({
            request,
            facts,
            scenario,
            number: received.number,
            cached: cache.use(request),
            seals,
          });
          return {
            whole: () => buildMessage(composition),
            frames: () => streamFrames(composition, entry.id),
            billed: composition.billed,
          };
        },
      };
    },
  };
}

/** Starts it; its URL is what `ANTHROPIC_BASE_URL` expects. */
export function startMessagesVendor(options: MessagesVendorOptions = {}): Promise<Stage<MessagesRequest>> {
  return openStage(createMessagesPlay(options));
}
