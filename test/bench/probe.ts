/**
 * Single calls by a client of our own: does a target answer what the vendor said, to the last event, and how
 * long is it to the first one.
 */
import { Agent, request } from 'node:http';
import { z } from 'zod';
import { calls, eventsPerStream, replies, translations, type Call } from './payload.ts';
import { adaptCall, type Target } from './targets.ts';

interface Answer {
  readonly status: number;
  readonly body: string;
  /** Milliseconds from sending the request to the first byte of the body. */
  readonly firstByte: number;
}

function call(target: Target, given: Call, agent: Agent): Promise<Answer> {
  const { origin, headers } = target;
  const { path, accept, body, headers: own } = adaptCall(given, target);
  return new Promise((resolve, reject) => {
    const all = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      accept,
      ...own,
      ...headers,
    };
    const began = performance.now();
    const sent = request(origin + path, { method: 'POST', agent, headers: all }, (response) => {
      let firstByte = NaN;
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => {
        if (!parts.length) firstByte = performance.now() - began;
        parts.push(part);
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(parts).toString(), firstByte }),
      );
      response.on('error', reject);
    });
    sent.on('error', reject).end(body);
  });
}

const saidSchema = z.object({ content: z.string().default('') });
const replySchema = z.object({
  choices: z.array(z.object({ message: saidSchema.optional(), delta: saidSchema.optional() })),
});

/** The text in a reply or in one event of it. */
function readText(json: string): string {
  const [choice] = replySchema.parse(JSON.parse(json)).choices;
  return choice?.message?.content ?? choice?.delta?.content ?? '';
}

/** Throws unless the target answers both calls with what the vendor said. */
export async function checkTarget(target: Target): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const describeFault = (what: string, { status, body }: Answer): Error =>
    new Error(`${target.name} ${what}; status ${status}\n${body.slice(0, 1000)}`);
  const json = await call(target, calls.json, agent);
  if (json.status !== 200 || readText(json.body) !== replies.answer)
    throw describeFault('answered JSON that is not what the vendor said', json);
  const stream = await call(target, calls.stream, agent);
  const events = stream.body
    .split('\n\n')
    .flatMap((block) => (block.startsWith('data: ') ? [block.slice(6)] : []));
  const whole = stream.status === 200 && events.length === eventsPerStream && events.at(-1) === '[DONE]';
  if (!whole || events.slice(0, -1).map(readText).join('') !== replies.streamedText) {
    throw describeFault(`streamed ${events.length} of ${eventsPerStream} events, or other text`, stream);
  }
  if (target.translates) await checkTranslations(target, agent);
  agent.destroy();
}

const messageSchema = z.object({
  content: z.array(z.object({ text: z.string().default('') })).default([]),
  delta: z.object({ text: z.string().default('') }).optional(),
});

/** The text in a message, or in one event of it. */
function readMessageText(json: string): string {
  const { content, delta } = messageSchema.parse(JSON.parse(json));
  return delta?.text ?? content.map(({ text }) => text).join('');
}

/** Throws unless the target tells a client of another protocol the same. */
async function checkTranslations(target: Target, agent: Agent): Promise<void> {
  const describeFault = ({ status, body }: Answer): Error =>
    new Error(
      `${target.name} translated what the vendor did not say; status ${status}\n${body.slice(0, 1000)}`,
    );
  for (const each of [translations.json, translations.long]) {
    const answer = await call(target, each, agent);
    if (answer.status !== 200 || readMessageText(answer.body) !== replies.answer) throw describeFault(answer);
  }
  const stream = await call(target, translations.stream, agent);
  const events = stream.body
    .split('\n\n')
    .flatMap((block) => (block.startsWith('event: ') ? [block.slice(block.indexOf('data: ') + 6)] : []));
  if (stream.status !== 200 || events.map(readMessageText).join('') !== replies.streamedText)
    throw describeFault(stream);
}

const atLeast = 20;
const atMost = 5000;

/** Milliseconds to the first event of one stream after another on one connection. */
export async function measureFirstEvents(target: Target, seconds: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  const end = performance.now() + seconds * 1000;
  while (times.length < atMost && (times.length < atLeast || performance.now() < end)) {
    const { status, firstByte } = await call(target, calls.stream, agent);
    if (status !== 200) throw new Error(`${target.name}: a stream was answered with ${status}`);
    times.push(firstByte);
  }
  agent.destroy();
  return times;
}
