/**
 * A vendor of responses on loopback, as strict as OpenAI's: it accepts only requests the real one would
 * accept, answers as the real one would, and misbehaves as a test asks it to. It shares no code with the
 * gateway.
 */
import type { z } from 'zod';
import { describeIssue } from './chat-completions/complaints.ts';
import {
  refuseOverflow,
  refuseModel,
  refuse,
  checkKey,
  checkPath,
  isJsonCall,
  type Complaint,
} from './chat-completions/refusals.ts';
import type { WholeReply } from './delivery.ts';
import { readBody } from './json-body.ts';
import { compose, countPromptTokens, type Composition } from './responses/composition.ts';
import { checkConversation, type Memory } from './responses/conversation.ts';
import { streamFrames } from './responses/events.ts';
import { anyModel, findResponsesFacts, type ResponsesFacts } from './responses/models.ts';
import { countSchema, requestSchema, type CountRequest, type ResponsesRequest } from './responses/request.ts';
import { rules } from './responses/rules.ts';
import type { Scenario } from './scenario.ts';
import { ScriptBook } from './script-book.ts';
import { Seals } from './seal.ts';
import { sendStream, sendWhole } from './sending.ts';
import type { ReceivedRequest } from './server.ts';
import { openStage, type Play, type Stage } from './stage.ts';

export type { ResponsesRequest } from './responses/request.ts';

function buildUsualHeaders(id: string): Record<string, string> {
  return {
    'x-request-id': id,
    'openai-organization': 'org-fake',
    'openai-processing-ms': '12',
    'openai-version': '2020-10-01',
    'x-ratelimit-limit-requests': '500',
    'x-ratelimit-remaining-requests': '499',
    'set-cookie': '__cf_bm=fake; path=/; HttpOnly',
    server: 'cloudflare',
    'cf-ray': '0000000000000000-LHR',
  };
}

function checkArrival(received: ReceivedRequest, key: string): WholeReply | undefined {
  const { headers } = received;
  const wrong = {
    message:
      `Unsupported content type: '${headers['content-type'] ?? ''}'. ` +
      "This API method only accepts 'application/json' requests.",
    code: 'unsupported_content_type',
  };
  return (
    checkKey(headers, key) ??
    checkPath(received, '/v1/responses', '/v1/responses/input_tokens') ??
    (isJsonCall(headers) ? undefined : refuse(wrong))
  );
}

type Checked<Request> =
  | { readonly request: Request; readonly facts: ResponsesFacts }
  | { readonly refusal: WholeReply };

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
  const key = 'sk-vendor-0123456789';
  const seals = new Seals('responses', vouched);
  const memory = new Map<string, Memory>();
  const scripts = new ScriptBook<ResponsesRequest, Scenario>({});
  const find = (model: string): ResponsesFacts | undefined =>
    findResponsesFacts(model) ?? (scripts.has(model) ? anyModel : undefined);

  function check<Request extends CountRequest>(bytes: Buffer, schema: z.ZodType<Request>): Checked<Request> {
    const reject = (complaint: Complaint): Checked<Request> => ({ refusal: refuse(complaint) });
    const json = readBody(bytes);
    if ('fault' in json) {
      if (json.fault === 'unreadable')
        return reject({ message: 'We could not parse the JSON body of your request.', code: null });
      return reject({
        message: `Duplicate parameter: '${json.name}'.`,
        param: json.name,
        code: 'duplicate_parameter',
      });
    }
    const named = typeof json.body.model === 'string' ? find(json.body.model) : undefined;
    const body = Object.fromEntries(
      Object.entries(json.body).filter(([field]) => !named?.fields?.includes(field)),
    );
    const parsed = schema.safeParse(body, { reportInput: true });
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      return reject(issue ? describeIssue(issue) : { message: 'Invalid request.', code: null });
    }
    const request = parsed.data;
    if (!named) return { refusal: refuseModel(request.model) };
    const fault =
      rules.map((rule) => rule(request, named)).find(Boolean) ??
      checkConversation(request, { seals, memory });
    if (fault) return reject(fault);
    const prompt = countPromptTokens(request);
    return prompt > named.contextLength && request.truncation !== 'auto'
      ? { refusal: refuseOverflow(named.contextLength, prompt) }
      : { request, facts: named };
  }

  return {
    key,
    scripts,
    headers: [],
    async answer({ received, response, entry }) {
      const respond = (reply: WholeReply, scenario: Scenario = {}): Promise<void> =>
        sendWhole(reply, buildUsualHeaders(entry.id), scenario, response, entry);
      const stopped = checkArrival(received, key);
      if (stopped) return respond(stopped);
      if (received.path.endsWith('/input_tokens')) {
        const counted = check(received.body, countSchema);
        if ('refusal' in counted) return respond(counted.refusal);
        entry.model = counted.request.model;
        return respond({
          status: 200,
          body: { object: 'response.input_tokens', input_tokens: countPromptTokens(counted.request) },
        });
      }
      const checked = check(received.body, requestSchema);
      if ('refusal' in checked) return respond(checked.refusal);
      const { request, facts } = checked;
      entry.model = request.model;
      entry.stream = request.stream ?? false;
      const scenario = await scripts.takeScenario(request.model, request, received);
      if (scenario.reply) return respond(scenario.reply, scenario);
      const composition = compose({ request, facts, scenario, number: received.number, seals });
      remember(memory, composition);
      const { billed, finished } = composition;
      const streamed = scenario.shape ? scenario.shape === 'stream' : entry.stream;
      if (streamed) {
        const headers = {
          'content-type': 'text/event-stream; charset=utf-8',
          ...buildUsualHeaders(entry.id),
        };
        await sendStream(streamFrames(composition), headers, scenario, response, entry);
      } else {
        await respond({ status: 200, headers: scenario.headers ?? {}, body: finished }, scenario);
        entry.tokens = entry.end === 'complete' ? billed.completion : 0;
      }
      entry.billed = { prompt: billed.prompt, completion: entry.tokens };
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
