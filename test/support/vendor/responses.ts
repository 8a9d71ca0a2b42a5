/**
 * A vendor of responses on loopback, as strict as OpenAI's: it accepts only requests the real one would
 * accept, answers as the real one would, and misbehaves as a test asks it to. It shares no code with the
 * gateway.
 */
import type { z } from 'zod';
import { readShape } from './chat-completions/complaints.ts';
import {
  buildOpenaiHeaders,
  checkKey,
  checkPath,
  complain,
  isJsonCall,
  openaiKey,
  readJson,
  reject,
  rejectModel,
  rejectOverflow,
} from './chat-completions/refusals.ts';
import { toCompacted } from './responses/compaction.ts';
import { compose, countPromptTokens, type Composition } from './responses/composition.ts';
import { checkConversation, type Memory } from './responses/conversation.ts';
import { streamFrames } from './responses/events.ts';
import { anyModel, findResponsesFacts, type ResponsesFacts } from './responses/models.ts';
import {
  compactSchema,
  countSchema,
  requestSchema,
  type CountRequest,
  type ResponsesRequest,
} from './responses/request.ts';
import { rules } from './responses/rules.ts';
import { ScriptBook } from './script-book.ts';
import { Seals } from './seal.ts';
import type { ReceivedRequest } from './server.ts';
import { openStage, type Play, type Stage } from './stage.ts';

export type { ResponsesRequest } from './responses/request.ts';

function checkArrival(received: ReceivedRequest): void {
  const { headers } = received;
  checkKey(headers);
  checkPath(received, '/v1/responses', '/v1/responses/input_tokens', '/v1/responses/compact');
  if (isJsonCall(headers)) return;
  const message =
    `Unsupported content type: '${headers['content-type'] ?? ''}'. ` +
    "This API method only accepts 'application/json' requests.";
  reject(complain(message, null, 'unsupported_content_type'));
}

/** Remembers what was handed out, for when it returns. */
function remember(memory: Map<string, Memory>, { request, groups }: Composition): void {
  const stored = request.store ?? true;
  let reasoning: string | undefined;
  for (const { id } of groups.flatMap(({ items }) => items)) {
    memory.set(id, { stored, ...(reasoning && !id.startsWith('rs_') ? { reasoning } : {}) });
    if (id.startsWith('rs_')) reasoning = id;
  }
}

export function createResponsesPlay(vouched?: readonly string[]): Play<ResponsesRequest> {
  const seals = new Seals('responses', vouched);
  const memory = new Map<string, Memory>();
  const scripts = new ScriptBook<ResponsesRequest>();
  const find = (model: string): ResponsesFacts | undefined =>
    findResponsesFacts(model) ?? (scripts.has(model) ? anyModel : undefined);

  function check<Request extends CountRequest>(
    bytes: Buffer,
    schema: z.ZodType<Request>,
  ): { readonly request: Request; readonly facts: ResponsesFacts } {
    const json = readJson(bytes);
    const facts = typeof json.model === 'string' ? find(json.model) : undefined;
    const body = Object.entries(json).filter(([field]) => !facts?.fields?.includes(field));
    const request = readShape(schema, Object.fromEntries(body));
    if (!facts) return rejectModel(request.model);
    const fault =
      rules.map((rule) => rule(request, facts)).find(Boolean) ??
      checkConversation(request, { seals, memory });
    if (fault) reject(fault);
    const prompt = countPromptTokens(request);
    if (prompt > facts.contextLength && request.truncation !== 'auto')
      rejectOverflow(facts.contextLength, prompt);
    return { request, facts };
  }

  return {
    key: openaiKey,
    scripts,
    headers: [],
    buildUsualHeaders: buildOpenaiHeaders,
    judge(received, entry) {
      checkArrival(received);
      if (received.path.endsWith('/input_tokens')) {
        const { request } = check(received.body, countSchema);
        entry.model = request.model;
        const counted = { object: 'response.input_tokens', input_tokens: countPromptTokens(request) };
        return { status: 200, body: counted };
      }
      const isPath = received.path.endsWith('/compact');
      const { request, facts } = check<ResponsesRequest>(
        received.body,
        isPath ? compactSchema : requestSchema,
      );
      return {
        model: request.model,
        request,
        streamed: request.stream ?? false,
        compose(scenario) {
          const { number } = received;
          const given = { request, facts, scenario, number, seals };
          const composition = compose(isPath ? { ...given, compacts: true } : given);
          remember(memory, composition);
          return {
            whole: () => (isPath ? toCompacted(composition) : composition.finished),
            frames: () => streamFrames(composition),
            billed: composition.billed,
          };
        },
      };
    },
  };
}

/**
 * Starts it; its URL is what `OPENAI_BASE_URL` expects. `vouched` are encrypted reasonings that it takes for
 * its own.
 */
export function startResponsesVendor(vouched?: readonly string[]): Promise<Stage<ResponsesRequest>> {
  return openStage(createResponsesPlay(vouched), '/v1');
}
