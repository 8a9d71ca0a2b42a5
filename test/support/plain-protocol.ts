/**
 * A second protocol, as small as possible, so that the tests can translate between two: it shows that core
 * knows none by name. A call is `{ model, prompt, limit?, stream? }`, a reply `{ model, text, in, out }`; a
 * stream is one `{ text }` an event, then `{ done, in, out }`.
 */
import { z } from 'zod';
import { definePlugin, GatewayError, type CanonicalEvent, type Protocol } from '../../core/index.ts';

const callSchema = z.strictObject({
  model: z.string(),
  prompt: z.string(),
  limit: z.int().optional(),
  stream: z.boolean().optional(),
});
const replySchema = z.object({ text: z.string(), in: z.int(), out: z.int() });
const eventSchema = z.union([
  z.object({ text: z.string() }),
  z.object({ done: z.literal(true), in: z.int(), out: z.int() }),
]);

function joinText(events: readonly CanonicalEvent[]): string {
  return events.map((event) => (event.type === 'block-delta' ? event.text : '')).join('');
}

function findUsage(events: readonly CanonicalEvent[]): { in: number; out: number } {
  const usage = events.findLast((event) => event.type === 'usage');
  return { in: usage?.usage.input ?? 0, out: usage?.usage.output ?? 0 };
}

function buildClosing(usage: { in: number; out: number }): CanonicalEvent[] {
  return [
    { type: 'block-end', candidate: 0, block: 0 },
    { type: 'usage', usage: { input: usage.in, output: usage.out } },
    { type: 'finish', candidate: 0, reason: { unified: 'stop', raw: 'done' } },
    { type: 'response-end' },
  ];
}

const opening: CanonicalEvent[] = [
  { type: 'response-start' },
  { type: 'block-start', candidate: 0, block: 0, kind: 'text' },
];

export const plainProtocol: Protocol = {
  name: 'plain',
  body: 'json',
  client: {
    keepAlive: ': plain\n\n',
    fieldNames: { outputLimit: 'limit' },
    match: (method, path) => (method === 'POST' && path === '/plain' ? { operation: 'generate' } : undefined),
    read(body) {
      const checked = callSchema.safeParse(body);
      if (!checked.success)
        throw new GatewayError('invalid_request', z.prettifyError(checked.error), {
          param: checked.error.issues[0]?.path.join('.'),
        });
      const { model, prompt, limit, stream = false } = checked.data;
      return {
        model,
        stream,
        outputLimit: limit,
        candidates: 1,
        usageWanted: true,
        preferences: {},
        carriesState: false,
        framing: 'events',
        size: { textBytes: Buffer.byteLength(prompt), images: 0, mediaBytes: 0 },
        decode: () => ({
          model,
          stream,
          turns: [{ role: 'user', blocks: [{ type: 'text', text: prompt }] }],
          ...(limit === undefined ? {} : { outputLimit: limit }),
        }),
      };
    },
    encodeEvents({ model }) {
      const seen: CanonicalEvent[] = [];
      return {
        push(event) {
          seen.push(event);
          if (event.type === 'block-delta') return `data: ${JSON.stringify({ model, text: event.text })}\n\n`;
          return event.type === 'response-end'
            ? `data: ${JSON.stringify({ done: true, ...findUsage(seen) })}\n\n`
            : '';
        },
      };
    },
    encodeReply: (events, { model }) => ({ model, text: joinText(events), ...findUsage(events) }),
    encodeError: (error) => ({
      status: error.status,
      body: { plain_error: error.code, message: error.message, param: error.details.param },
    }),
    encodeStreamError: (error) => `data: ${JSON.stringify({ plain_error: error.code })}\n\n`,
  },
  upstream: {
    modelPaths: [['model']],
    buildHeaders: () => ({}),
    ending: 'event',
    terminator: '',
    retarget: () => [],
    encodeRequest(request, model, outputLimit) {
      const prompt = request.turns
        .flatMap(({ blocks }) => blocks.flatMap((block) => (block.type === 'text' ? [block.text] : [])))
        .join('\n');
      const losses =
        request.temperature === undefined
          ? []
          : [{ path: 'temperature', reason: 'plain has no temperature', code: 'unsupported' as const }];
      const limit = outputLimit ?? request.outputLimit;
      return {
        body: {
          model: model.upstream,
          prompt,
          stream: request.stream,
          ...(limit === undefined ? {} : { limit }),
        },
        losses,
      };
    },
    decodeEvents() {
      let started = false;
      return {
        push({ data }) {
          const event = eventSchema.parse(JSON.parse(data));
          const opened = started ? [] : opening;
          started = true;
          return 'done' in event
            ? [...opened, ...buildClosing(event)]
            : [...opened, { type: 'block-delta', candidate: 0, block: 0, text: event.text }];
        },
        end: () => [],
      };
    },
    decodeReply(body) {
      const reply = replySchema.parse(body);
      return [
        ...opening,
        { type: 'block-delta', candidate: 0, block: 0, text: reply.text },
        ...buildClosing(reply),
      ];
    },
    decodeError: (status) =>
      new GatewayError(status >= 500 ? 'upstream_failed' : 'invalid_request', `plain vendor said ${status}`),
  },
};

export const plain = definePlugin({
  name: 'plain',
  options: z.strictObject({}),
  apply: (host) => host.protocols.add(plainProtocol),
});
