/**
 * Perplexity's Agent API on loopback. It accepts only what the vendor documents, and the tool choice that it
 * takes besides, searches if it is offered a search and the model wants one, and answers as the vendor does:
 * with its results as an item, and with the searches in the usage. It shares no code with the gateway.
 */
import { z } from 'zod';
import type { WholeReply } from './delivery.ts';
import { readBody } from './json-body.ts';
import type { Scenario } from './scenario.ts';
import { ScriptBook } from './script-book.ts';
import { stageFrames, type SentEvent } from './sending.ts';
import { speak, countSpeechTokens, type Speech } from './speech.ts';
import { openStage, Refused, type Play, type Stage } from './stage.ts';
import { countAll } from './words.ts';

const content = z.union([
  z.string(),
  z.array(
    z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('input_text'), text: z.string() }),
      z.strictObject({ type: z.literal('input_image'), image_url: z.string() }),
    ]),
  ),
]);

/** Each item has its type. */
const item = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('message'),
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    content,
  }),
  z.strictObject({
    type: z.literal('function_call'),
    call_id: z.string(),
    name: z.string(),
    arguments: z.string(),
  }),
  z.strictObject({ type: z.literal('function_call_output'), call_id: z.string(), output: content }),
]);

const search = z.strictObject({
  type: z.literal('web_search'),
  filters: z.strictObject({ search_domain_filter: z.array(z.string()).max(20).optional() }).optional(),
  search_context_size: z.enum(['low', 'medium', 'high']).optional(),
  user_location: z
    .strictObject({ city: z.string(), region: z.string(), country: z.string() })
    .partial()
    .optional(),
});

const tool = z.discriminatedUnion('type', [
  search,
  z.strictObject({
    type: z.literal('function'),
    name: z.string(),
    description: z.string().optional(),
    parameters: z.looseObject({}).optional(),
    strict: z.boolean().optional(),
  }),
]);

const requestSchema = z.strictObject({
  model: z.string(),
  input: z.union([z.string(), z.array(item)]),
  instructions: z.string().optional(),
  max_output_tokens: z.int().min(1).optional(),
  max_steps: z.int().min(1).max(100).optional(),
  temperature: z.number().optional(),
  top_p: z.number().optional(),
  stream: z.boolean().optional(),
  store: z.boolean().optional(),
  tools: z.array(tool).optional(),
  tool_choice: z
    .union([z.string(), z.strictObject({ type: z.literal('function'), name: z.string() })])
    .optional(),
});

export type PerplexityRequest = z.output<typeof requestSchema>;

function refuse(message: string, status = 400): WholeReply {
  return { status, body: { error: { message, type: 'invalid_request', code: String(status) } } };
}

function reject(message: string, status?: number): never {
  throw new Refused(refuse(message, status));
}

function buildOutput(speech: Speech): Record<string, unknown>[] {
  const { search: query, citations, text, calls } = speech;
  const results = citations.map(({ url, title }, index) => ({
    id: index + 1,
    url,
    title,
    snippet: title,
    source: 'web',
  }));
  return [
    ...(query === undefined ? [] : [{ type: 'search_results', queries: [query], results }]),
    ...(text
      ? [
          {
            type: 'message',
            id: 'msg_1',
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: text.join('') }],
          },
        ]
      : []),
    ...calls.map(({ id, name, fragments }) => ({
      type: 'function_call',
      id: `fc_${id}`,
      call_id: id,
      name,
      arguments: fragments.join(''),
      status: 'completed',
    })),
  ];
}

function buildUsage(speech: Speech, prompt: number, { cached = 0, usage }: Scenario): object {
  const output = countSpeechTokens(speech);
  return {
    input_tokens: prompt,
    input_tokens_details: { cache_creation_input_tokens: 0, cache_read_input_tokens: cached },
    output_tokens: output,
    total_tokens: prompt + output,
    ...(speech.search === undefined ? {} : { tool_calls_details: { search_web: { invocation: 1 } } }),
    cost: { currency: 'USD', input_cost: 0, output_cost: 0, total_cost: 0 },
    ...(usage === 'missing' ? {} : usage),
  };
}

interface Reply {
  readonly speech: Speech;
  readonly opened: object;
  readonly finished: object;
  readonly output: readonly Record<string, unknown>[];
}

/** Events without names: each says its type. A call comes whole, and no part of a message is announced. */
function* streamEvents({ speech, opened, finished, output }: Reply): Generator<SentEvent> {
  let number = 0;
  const tell = (type: string, data: object, tokens = 0): SentEvent => ({
    frame: `data: ${JSON.stringify({ type, sequence_number: number++, ...data })}\n\n`,
    tokens,
  });
  yield tell('response.created', { response: opened });
  yield tell('response.in_progress', { response: opened });
  for (const [place, each] of output.entries()) {
    if (each.type === 'search_results')
      yield tell('response.reasoning.search_results', { results: each.results });
    yield tell('response.output_item.added', { output_index: place, item: { ...each, content: [] } });
    const at = { item_id: 'msg_1', output_index: place, content_index: 0 };
    for (const delta of each.type === 'message' ? (speech.text ?? []) : [])
      yield tell('response.output_text.delta', { ...at, delta }, 1);
    if (each.type === 'message')
      yield tell('response.output_text.done', { ...at, text: speech.text?.join('') });
    yield tell('response.output_item.done', { output_index: place, item: each });
  }
  yield tell('response.completed', { response: finished });
}

function buildReply(request: PerplexityRequest, scenario: Scenario, number: number): Reply {
  const { search: query, ...rest } = scenario;
  const searches = query !== undefined && request.tools?.some(({ type }) => type === 'web_search');
  const said = { text: 'Hello from Sonar.', ...rest, ...(searches ? { search: query } : {}) };
  const speech = speak(said, {
    limit: request.max_output_tokens ?? 8192,
    stops: [],
    callId: (index) => `call_${number}_${index}`,
  });
  const output = buildOutput(speech);
  const opened = {
    id: `resp_${number}`,
    object: 'response',
    created_at: 1_790_000_000,
    model: request.model,
    status: 'in_progress',
    output: [],
  };
  const status = speech.calls.length > 0 ? 'requires_action' : 'completed';
  const usage = buildUsage(speech, countAll([request.input, request.instructions]), scenario);
  return { speech, opened, output, finished: { ...opened, status, output, usage } };
}

function createPlay(): Play<PerplexityRequest> {
  const key = 'pplx-vendor-0123456789';
  function check(bytes: Buffer): PerplexityRequest {
    const json = readBody(bytes, () => refuse('validation failed: the body'));
    const { data, error } = requestSchema.safeParse(json);
    if (!data) return reject(`validation failed: ${z.prettifyError(error)}`);
    return data.model === 'perplexity/sonar' ? data : reject(`validation failed: model ${data.model}`);
  }
  return {
    key,
    scripts: new ScriptBook<PerplexityRequest>(),
    headers: [],
    buildUsualHeaders: () => ({}),
    judge({ method, path, headers, body, number }) {
      if (headers.authorization !== `Bearer ${key}`) reject('Invalid API key', 401);
      if (method !== 'POST' || path !== '/v1/responses') reject('not found', 404);
      const request = check(body);
      return {
        model: request.model,
        request,
        streamed: request.stream ?? false,
        compose(scenario) {
          const reply = buildReply(request, scenario, number);
          const prompt = countAll([request.input, request.instructions]);
          return {
            whole: () => reply.finished,
            frames: () => stageFrames(streamEvents(reply), scenario, () => []),
            billed: { prompt, completion: countSpeechTokens(reply.speech) },
          };
        },
      };
    },
  };
}

/** Starts it; its URL is what `PERPLEXITY_BASE_URL` expects. */
export function startPerplexityVendor(): Promise<Stage<PerplexityRequest>> {
  return openStage(createPlay(), '/v1');
}
