/**
 * What is asked and what is answered, the same for every target. The events of the stream are all of one length,
 * so that nginx, told to write that many bytes at a time, sends them as a model does: one by one.
 */
const model = 'gpt-4o-mini-2024-07-18';
const identity = { id: 'chatcmpl-Bq7hRj2NwYc0TfXk4sLmEa9uPdVz1', created: 1_790_000_000, model };
const trailer = { service_tier: 'default', system_fingerprint: 'fp_3f7a1c90d2' };

const sentence = 'A toll gate lets every cart through that has paid for the road, and writes down which one it was. ';
const answer = sentence.repeat(4).trim();
const usage = {
  prompt_tokens: 164,
  completion_tokens: 97,
  total_tokens: 261,
  prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0, accepted_prediction_tokens: 0, rejected_prediction_tokens: 0 },
};

/** Bytes of one event with its blank line. */
export const eventBytes = 300;
/** After them come a finish, the usage, which is twice as long, and `[DONE]`, which is a file of its own. */
const words = 97;
/** Events in one streamed reply, `[DONE]` included. */
export const eventsPerStream = words + 3;

/** One event padded by the field the vendor pads with, to a whole number of event lengths. */
function event(chunk: object): string {
  const body = { ...identity, object: 'chat.completion.chunk', ...trailer, ...chunk };
  const frame = (obfuscation: string): string => `data: ${JSON.stringify({ ...body, obfuscation })}\n\n`;
  const bare = Buffer.byteLength(frame(''));
  return frame('x'.repeat(Math.ceil(bare / eventBytes) * eventBytes - bare));
}

function pieces(): string[] {
  const said = answer.split(/(?= )/);
  return Array.from({ length: words }, (_, index) => said[index % said.length] ?? '');
}

const streamed = pieces().map((content) => event({ choices: [{ index: 0, delta: { content }, finish_reason: null }] }));
const finish = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
if ([...streamed, finish].some(({ length }) => length !== eventBytes)) throw new Error('an event outgrew its length: nginx would send it in two');

export const replies = {
  completion: JSON.stringify({
    ...identity,
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content: answer, refusal: null, annotations: [] }, logprobs: null, finish_reason: 'stop' }],
    usage,
    ...trailer,
  }),
  events: [...streamed, finish, event({ choices: [], usage })].join(''),
  done: 'data: [DONE]\n\n',
  /** What a client reads when it puts the stream together. */
  streamedText: pieces().join(''),
  answer,
};

function request(stream: boolean): string {
  const system = 'You are the keeper of a toll gate. Answer in full sentences, in the manner of a clerk, and never tell a lie. ';
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

export interface Call {
  readonly accept: string;
  readonly body: string;
}

export const calls = {
  json: { accept: 'application/json', body: request(false) },
  stream: { accept: 'text/event-stream', body: request(true) },
} as const satisfies Record<string, Call>;

export const path = '/v1/chat/completions';
