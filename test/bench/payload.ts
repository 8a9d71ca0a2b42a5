/**
 * The request and the reply, the same for every target. The events of the stream all have one length, so that
 * nginx, configured to write that many bytes at a time, sends them as a model does: one by one.
 */
import { z } from 'zod';

const model = 'gpt-4o-mini-2024-07-18';
const identity = { id: 'chatcmpl-Bq7hRj2NwYc0TfXk4sLmEa9uPdVz1', created: 1_790_000_000, model };
const trailer = { service_tier: 'default', system_fingerprint: 'fp_3f7a1c90d2' };

const sentence =
  'A toll gate lets every cart through that has paid for the road, and writes down which one it was. ';
const answer = sentence.repeat(4).trim();
const usage = {
  prompt_tokens: 164,
  completion_tokens: 97,
  total_tokens: 261,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: {
    reasoning_tokens: 0,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
};

/** Bytes of one event with its blank line. */
export const eventBytes = 300;
/** After them come a finish, the usage, which is twice as long, and `[DONE]`, which is a file of its own. */
const words = 97;
/** Events in one streamed reply, `[DONE]` included. */
export const eventsPerStream = words + 3;

/** One event padded by the field the vendor pads with, to a whole number of event lengths. */
function buildEvent(chunk: object): string {
  const body = { ...identity, object: 'chat.completion.chunk', ...trailer, ...chunk };
  const buildFrame = (obfuscation: string): string => `data: ${JSON.stringify({ ...body, obfuscation })}\n\n`;
  const bare = Buffer.byteLength(buildFrame(''));
  return buildFrame('x'.repeat(Math.ceil(bare / eventBytes) * eventBytes - bare));
}

function listPieces(): string[] {
  const said = answer.split(/(?= )/);
  return Array.from({ length: words }, (_, index) => said[index % said.length] ?? '');
}

const streamed = listPieces().map((content) =>
  buildEvent({ choices: [{ index: 0, delta: { content }, finish_reason: null }] }),
);
const finish = buildEvent({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
if ([...streamed, finish].some(({ length }) => length !== eventBytes))
  throw new Error('an event outgrew its length: nginx would send it in two');

export const replies = {
  completion: JSON.stringify({
    ...identity,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: answer, refusal: null, annotations: [] },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage,
    ...trailer,
  }),
  events: [...streamed, finish, buildEvent({ choices: [], usage })].join(''),
  done: 'data: [DONE]\n\n',
  /** What a client reads when it puts the stream together. */
  streamedText: listPieces().join(''),
  answer,
};

function buildRequest(stream: boolean): string {
  const system =
    'You are the service of a toll gate. Answer in full sentences, in the manner of a clerk, ' +
    'and never tell a lie. ';
  return JSON.stringify({
    model: 'openai/gpt-4o-mini',
    messages: [
      { role: 'system', content: system.repeat(3) },
      { role: 'user', content: 'What does a toll gate do, and why does it keep a ledger?' },
    ],
    temperature: 0.7,
    max_tokens: 400,
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  });
}

/** The vendor's own address of calls. */
export const path = '/v1/chat/completions';
/** A model its vendor serves by this wire alone, so that a client of another has to be translated. */
const translatedModel = 'deepseek/deepseek-v4-flash';
/** Where it thinks, it wants its thoughts back with every call of a tool. */
const thinking = { type: 'disabled' };
const longBytes = 1_000_000;

/** A conversation of that many bytes, with a tool called and answered in every other turn. */
function buildConversation(): {
  readonly question: string;
  readonly call: string;
  readonly result: string;
  readonly answer: string;
}[] {
  const buildText = (name: string, turn: number): string => `${name} ${turn}: ${sentence.repeat(5)}`;
  const turns = Math.floor(longBytes / (4 * sentence.length * 5));
  return Array.from({ length: turns }, (_, turn) => ({
    question: buildText('Question', turn),
    call: `call_${turn}`,
    result: buildText('Result', turn),
    answer: buildText('Answer', turn),
  }));
}

const tool = {
  name: 'look_up',
  description: 'Looks up a page of the ledger.',
  schema: { type: 'object', properties: { page: { type: 'string' } }, required: ['page'] },
};

function buildLongRequest(): string {
  const messages = buildConversation().flatMap(({ question, call, result, answer: last }) => [
    { role: 'user', content: question },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        {
          id: call,
          type: 'function',
          function: { name: tool.name, arguments: JSON.stringify({ page: question }) },
        },
      ],
    },
    { role: 'tool', tool_call_id: call, content: result },
    { role: 'assistant', content: last },
  ]);
  const { name, description, schema } = tool;
  return JSON.stringify({
    model: translatedModel,
    thinking,
    messages: [...messages, { role: 'user', content: 'And now?' }],
    tools: [{ type: 'function', function: { name, description, parameters: schema } }],
    max_tokens: 400,
  });
}

function buildLongTranslation(): string {
  const messages = buildConversation().flatMap(({ question, call, result, answer: last }) => [
    { role: 'user', content: question },
    {
      role: 'assistant',
      content: [{ type: 'tool_use', id: call, name: tool.name, input: { page: question } }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: call, content: result }] },
    { role: 'assistant', content: last },
  ]);
  const { name, description, schema } = tool;
  return JSON.stringify({
    model: translatedModel,
    thinking,
    messages: [...messages, { role: 'user', content: 'And now?' }],
    tools: [{ name, description, input_schema: schema }],
    max_tokens: 400,
  });
}

/** What `buildRequest` asks, in the words of messages. */
function buildTranslation(stream: boolean): string {
  const {
    messages: [system, ...messages],
    temperature,
    max_tokens: limit,
  } = z
    .object({
      messages: z.array(z.object({ role: z.string(), content: z.string() })),
      temperature: z.number(),
      max_tokens: z.int(),
    })
    .parse(JSON.parse(buildRequest(false)));
  return JSON.stringify({
    model: translatedModel,
    system: system?.content,
    messages,
    temperature,
    max_tokens: limit,
    ...(stream ? { stream } : {}),
  });
}

export interface Call {
  readonly path: string;
  readonly accept: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether each event of the stream is sent when the client has the one before it, on one connection. */
  readonly stepwise?: boolean;
}

const messages = { path: '/alpha/v1/messages', headers: { 'anthropic-version': '2023-06-01' } };
const [json, events] = ['application/json', 'text/event-stream'];

/** In the vendor's own words. */
export const calls = {
  json: { path, accept: json, body: buildRequest(false) },
  stream: { path, accept: events, body: buildRequest(true) },
  long: { path, accept: json, body: buildLongRequest() },
} as const satisfies Record<string, Call>;

/** A stream whose events come one by one. */
export const stepwise: Call = { ...calls.stream, stepwise: true };

/** The same in the words of another protocol, for targets that translate. */
export const translations = {
  json: { ...messages, accept: json, body: buildTranslation(false) },
  stream: { ...messages, accept: events, body: buildTranslation(true) },
  long: { ...messages, accept: json, body: buildLongTranslation() },
} as const satisfies Record<keyof typeof calls, Call>;
