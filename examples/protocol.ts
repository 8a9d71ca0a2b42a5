/**
 * A protocol of your own is a pair of pure maps. Its client side reads what callers send and writes what they
 * get; its upstream side does the same towards a provider that speaks it. Both translate to and from the
 * canonical request and events. So your clients reach any model, and any client reaches your provider.
 *
 * This one asks a question: `POST /ask {"model":"demo/echo","ask":"Hello!"}` gets
 * `{"model":…,"answer":…,"ended":"stop","tokens":{…}}`, or with `"stream":true` several `{"piece":…}` and at
 * the end `{"ended":…,"tokens":{…}}`.
 */
import {
  definePlugin,
  finishReasons,
  GatewayError,
  type CanonicalEvent,
  type CanonicalRequest,
  type Loss,
  type Protocol,
  type ReplyContext,
} from 'tollgate';
import { decodeError, encodeError, buildErrorBody } from 'tollgate/kit';
import { z } from 'zod';

const callSchema = z.strictObject({
  model: z.string().min(1),
  ask: z.string(),
  limit: z.int().positive().optional(),
  stream: z.boolean().optional(),
});
const tokens = z.object({
  input: z.int().nonnegative().optional(),
  output: z.int().nonnegative().optional(),
});
const endSchema = z.object({ ended: z.enum(finishReasons), tokens });
const replySchema = endSchema.extend({ answer: z.string() });
const frameSchema = z.union([
  z.object({ piece: z.string() }),
  endSchema,
  z.object({ error: z.object({ message: z.string() }) }),
]);

function buildFrame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

/** Collects the text of a reply, event by event, and reports every part of it that is not text. */
class Listener {
  readonly #texts = new Set<number>();
  readonly #context: ReplyContext;
  answer = '';
  ended: z.output<typeof endSchema> = { ended: 'other', tokens: {} };

  constructor(context: ReplyContext) {
    this.#context = context;
  }

  /** Returns the piece of the answer that the event adds; empty for most. */
  hear(event: CanonicalEvent): string {
    if (event.type === 'block-start' && event.kind === 'text') this.#texts.add(event.block);
    else if (event.type === 'block-start') this.#context.reportLoss?.(event.kind, 'an answer is text');
    else if (event.type === 'usage')
      this.ended = { ...this.ended, tokens: { ...this.ended.tokens, ...tokens.parse(event.usage) } };
    else if (event.type === 'finish') this.ended = { ...this.ended, ended: event.reason.unified };
    const piece = event.type === 'block-delta' && this.#texts.has(event.block) ? event.text : '';
    this.answer += piece;
    return piece;
  }
}

const beginning: CanonicalEvent[] = [
  { type: 'response-start' },
  { type: 'block-start', candidate: 0, block: 0, kind: 'text' },
];

function buildEnding({ ended, tokens: usage }: z.output<typeof endSchema>): CanonicalEvent[] {
  return [
    { type: 'block-end', candidate: 0, block: 0 },
    { type: 'usage', usage },
    { type: 'finish', candidate: 0, reason: { unified: ended, raw: ended } },
    // Without this event the reply counts as cut.
    { type: 'response-end' },
  ];
}

/** Lists what a question cannot express, so that nothing is left out in silence. */
function findLosses(request: CanonicalRequest): Loss[] {
  const expressible = new Set(['model', 'stream', 'turns', 'outputLimit', 'vendor', 'form']);
  const paths = [
    ...Object.keys(request).filter((name) => !expressible.has(name)),
    ...request.turns.flatMap(({ blocks }, turn) =>
      blocks.flatMap(({ type }, block) => (type === 'text' ? [] : [`turns[${turn}].blocks[${block}]`])),
    ),
  ];
  return paths.map((path) => ({ path, reason: 'a question has a text and a limit', code: 'unsupported' }));
}

/** One turn becomes its text; of several turns each line begins with its role. */
function buildQuestion({ turns }: CanonicalRequest): string {
  const lines = turns.map(({ role, blocks }) => ({
    role,
    text: blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('\n'),
  }));
  return lines.length === 1
    ? (lines[0]?.text ?? '')
    : lines.map(({ role, text }) => `${role}: ${text}`).join('\n');
}

export const protocol: Protocol = {
  name: 'ask',
  body: 'json',
  client: {
    keepAlive: ': waiting\n\n',
    fieldNames: { outputLimit: 'limit' },
    match: (method, path) => (method === 'POST' && path === '/ask' ? { operation: 'generate' } : undefined),
    read(body, text) {
      const { data, error } = callSchema.safeParse(body);
      if (!data)
        throw new GatewayError('invalid_request', z.prettifyError(error), {
          param: error.issues[0]?.path.join('.'),
        });
      const { model, ask, limit, stream = false } = data;
      return {
        model,
        stream,
        outputLimit: limit,
        candidates: 1,
        framing: 'events',
        usageWanted: true,
        preferences: {},
        carriesState: false,
        size: { textBytes: Buffer.byteLength(text), images: 0, mediaBytes: 0 },
        decode: () => ({
          model,
          stream,
          turns: [{ role: 'user', at: 'ask', blocks: [{ type: 'text', text: ask }] }],
          ...(limit === undefined ? {} : { outputLimit: limit }),
        }),
      };
    },
    encodeEvents(context) {
      const listener = new Listener(context);
      return {
        push(event) {
          const piece = listener.hear(event);
          return event.type === 'response-end' ? buildFrame(listener.ended) : piece && buildFrame({ piece });
        },
      };
    },
    encodeReply(events, context) {
      const listener = new Listener(context);
      for (const event of events) listener.hear(event);
      return { model: context.model, answer: listener.answer, ...listener.ended };
    },
    encodeError,
    encodeStreamError: (error) => buildFrame(buildErrorBody(error)),
  },
  upstream: {
    buildHeaders: () => ({}),
    // If the provider speaks this protocol too, the client's own bytes go on with these members set.
    retarget: ({ call, model, outputLimit }) => [
      { path: ['model'], value: model },
      { path: ['stream'], value: call.stream },
      { path: ['limit'], value: outputLimit ?? call.outputLimit },
    ],
    encodeRequest(request, model, outputLimit) {
      const limit = outputLimit ?? request.outputLimit;
      return {
        body: { model: model.upstream, ask: buildQuestion(request), stream: request.stream, limit },
        losses: findLosses(request),
      };
    },
    decodeEvents() {
      let [begun, over] = [false, false];
      const decode = (data: string): CanonicalEvent[] => {
        const frame = frameSchema.safeParse(JSON.parse(data)).data ?? {
          error: { message: 'The provider sent an unknown frame.' },
        };
        over = !('piece' in frame);
        if ('error' in frame) return [{ type: 'error', message: frame.error.message }];
        return 'piece' in frame
          ? [{ type: 'block-delta', candidate: 0, block: 0, text: frame.piece }]
          : buildEnding(frame);
      };
      return {
        push({ data }) {
          if (over) return [];
          const opening = begun ? [] : beginning;
          begun = true;
          return [...opening, ...decode(data)];
        },
        end: () => [],
      };
    },
    decodeReply(body) {
      const { answer, ...end } = replySchema.parse(body);
      return [
        ...beginning,
        { type: 'block-delta', candidate: 0, block: 0, text: answer },
        ...buildEnding(end),
      ];
    },
    decodeError,
    modelPaths: [['model']],
    ending: 'event',
    terminator: '',
  },
  // For `/openapi.json`.
  describeCalls: async () => [
    {
      method: 'POST',
      path: '/ask',
      summary: 'Ask a question',
      body: { 'application/json': callSchema },
      replies: { 200: { 'application/json': replySchema, 'text/event-stream': frameSchema } },
      error: z.looseObject({ error: z.looseObject({ message: z.string() }) }),
    },
  ],
};

export const ask = definePlugin({
  name: 'ask',
  options: z.strictObject({}),
  apply: (host) => host.protocols.add(protocol),
});
