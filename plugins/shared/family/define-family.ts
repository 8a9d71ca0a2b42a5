/**
 * Makes a plugin of a family: a protocol of each wire, the models that its calls can reach, and the demo
 * model.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import {
  checkModel,
  costHeader,
  definePlugin,
  GatewayError,
  type CanonicalRequest,
  type ClientHeaders,
  type ClientSide,
  type Host,
  type PluginFactory,
  type Protocol,
  type Provider,
  type Routed,
  type Target,
  type UpstreamRequest,
  type UpstreamResponse,
} from '../../../core/index.ts';
import { createBoundary, encodeForm, Form, readForm } from '../forms.ts';
import { listForeignFields } from '../wire-kit/foreign-fields.ts';
import { collectLosses } from '../wire-kit/losses.ts';
import { ReadCall } from '../wire-kit/read-call.ts';
import { createBag } from '../wire-kit/vendor-bag.ts';
import { dropZeros, writeJoined } from './join-replies.ts';
import { storeForms } from './stored-forms.ts';
import type { ClientWire, Family, ReadAsk, Wire } from './wires.ts';

/** What a request of a family holds, so that no wire of another family reads it. */
interface Task<Ask> {
  readonly family: string;
  readonly ask: Ask;
}

/** The family's name in it is the proof that one of its wires read it. */
function isTask<Ask>(task: unknown, family: string): task is Task<Ask> {
  return typeof task === 'object' && task !== null && 'family' in task && task.family === family;
}

class FamilyCall extends ReadCall {
  readonly #suits: (model: Target['model']) => boolean;

  constructor({ suits, ...read }: ReadAsk<object>, { wire, family }: { wire: string; family: string }) {
    const { model, ask, preferences, size, labels, defaulted, fees = [], rest, names } = read;
    super(
      {
        model,
        stream: false,
        outputLimit: undefined,
        candidates: 1,
        framing: 'events',
        usageWanted: true,
        size,
        fees,
        preferences,
        carriesState: false,
        labels,
        defaulted,
      },
      () => {
        const task = { family, ask };
        return { model, stream: false, turns: [], task, names, ...createBag(wire).keep(rest) };
      },
    );
    this.#suits = suits;
  }

  suits(model: Target['model']): boolean {
    return this.#suits(model);
  }
}

/** Refuses lists of models to fall back to: answers of two models cannot be compared with each other. */
function checkPreferences({ preferences }: ReadAsk<object>): void {
  if (preferences.fallback?.length)
    throw new GatewayError(
      'unsupported_parameter',
      '"provider.fallback" names other models, whose answers cannot be compared with those of this one: ' +
        'leave it out.',
      { param: 'provider.fallback' },
    );
}

/** Bytes have no place for it. */
function checkCostWish(headers: ClientHeaders): void {
  if (headers[costHeader] !== undefined)
    throw new GatewayError(
      'invalid_request',
      `The header ${costHeader} is wrong: this reply has no usage to show it in; leave it out.`,
      { param: costHeader },
    );
}

const neverStreamed = 'Calls of this kind are not streamed.';

function buildClient<Ask extends object, Answer>(
  family: Family<Ask, Answer>,
  wire: Wire<Ask, Answer>,
  client: ClientWire<Ask, Answer> | undefined,
  folder: string,
): ClientSide {
  const getAsk = (request: CanonicalRequest): Ask => readAsk(family, request);
  return {
    match: (method, path) => client?.match(method, path),
    ...(client?.takesForms && { readForm }),
    ...(client?.files && { largeForms: storeForms(folder, client.files) }),
    read(body, _text, match, headers) {
      if (!client) throw new GatewayError('not_found', `Clients cannot speak ${wire.name}.`);
      if (client.getType) checkCostWish(headers);
      const read = client.read(body, match);
      checkPreferences(read);
      // Bytes cannot go on as the verbatim lane reads replies.
      const suits: typeof read.suits = (model) => !client.getType && read.suits(model);
      return new FamilyCall({ ...read, suits }, { wire: wire.name, family: family.name });
    },
    fieldNames: client?.fieldNames ?? {},
    encodeEvents: () => ({ push: () => '' }),
    /** The verbatim lane asks for it, to correct the usage. Bytes are in the other lane. */
    encodeReply(events, { id, model, created, call }) {
      const usage = events.find((event) => event.type === 'usage')?.usage ?? {};
      const texts = client?.write(family.join([], getAsk(call.decode())), getAsk(call.decode()), {
        id,
        model,
        created,
        usage,
      });
      return texts && Symbol.iterator in texts ? JSON.parse([...texts].join('')) : {};
    },
    ...(client && {
      joinReplies(replies, context) {
        const own = family.wires.find(({ name }) => name === replies.wire.name);
        if (!own) throw new GatewayError('internal', `${replies.wire.name} is no wire of ${family.name}.`);
        return writeJoined(family, [own, client, getAsk(context.call.decode())], replies, context);
      },
      ...(client.usagePath && { usagePath: client.usagePath }),
    }),
    encodeError: wire.errors.encodeError,
    encodeStreamError: () => '',
    keepAlive: '',
  };
}

type Named = Pick<Family<never, never>, 'name' | 'makes'>;

function readAsk<Ask>({ name, makes }: Named, request: CanonicalRequest): Ask {
  const { task } = request;
  if (isTask<Ask>(task, name)) return task.ask;
  throw new GatewayError('invalid_request', `The model makes ${makes} and holds no conversations.`, {
    param: 'model',
  });
}

function buildProtocol<Ask extends object, Answer>(
  family: Family<Ask, Answer>,
  wire: Wire<Ask, Answer>,
  folder: string,
): Protocol {
  const { name, client } = wire;
  return {
    name,
    body: client?.takesForms ? 'multipart' : 'json',
    makes: family.makes,
    ...(wire.flags && { capabilities: wire.flags }),
    client: buildClient(family, wire, client, folder),
    upstream: {
      buildHeaders: () => (wire.bytes ? { accept: '*/*' } : {}),
      retarget: ({ model }) => [
        { path: ['model'], value: model },
        { path: ['provider'], value: undefined },
      ],
      encodeRequest(request, model) {
        const { losses, lose } = collectLosses();
        const rest = createBag(name).getFields(request);
        // All bodies of a call go with one content type.
        const boundary = createBoundary();
        const bodies = wire.encode(readAsk(family, request), model, { lose, rest });
        const [first = { body: {} }, ...others] = bodies.map((body) =>
          body instanceof Form ? encodeForm(body, boundary) : { body },
        );
        const all = [...losses, ...listForeignFields(request, name)];
        return { ...first, others: others.map(({ body }) => body), losses: all };
      },
      decodeEvents: () => {
        throw new GatewayError('upstream_failed', neverStreamed);
      },
      decodeReply(body, call) {
        const usage = dropZeros(wire.decode(body, readAsk(family, call.decode())).usage);
        return [
          { type: 'response-start' },
          ...(usage ? [{ type: 'usage', usage } as const] : []),
          { type: 'finish', candidate: 0, reason: { unified: 'stop', raw: 'stop' } },
          { type: 'response-end' },
        ];
      },
      decodeError: wire.errors.decodeError,
      ...(wire.correct && {
        correctReply: (text, _events, call) => wire.correct?.(text, readAsk(family, call.decode())) ?? text,
      }),
      modelPaths: [['model']],
      ending: 'event',
      terminator: '',
    },
    ...(client && { describeCalls: () => client.describeCalls() }),
    ...(client?.describeAbilities && { describeAbilities: client.describeAbilities }),
  };
}

/** The answer to one of the bodies of a call, as the wire's vendor would send it. */
function answerDemo<Ask extends object, Answer>(
  { demo, path }: Family<Ask, Answer>,
  client: ClientWire<Ask, Answer>,
  sent: unknown,
  id: string,
): UpstreamResponse {
  const { ask } = client.read(sent, client.match('POST', path) ?? { operation: 'generate' });
  const { answer, usage } = demo.answer(ask);
  const texts = client.write(answer, ask, { id, model: demo.model.id, created: 0, usage });
  async function* write(): AsyncGenerator<Uint8Array> {
    for await (const text of texts) {
      yield Buffer.from(text);
      await nextTurn();
    }
  }
  const headers = { 'content-type': client.getType?.(answer) ?? 'application/json' };
  return { status: 200, headers, body: write() };
}

const usualFacts = { created: '2026-11-27', contextLength: 8192, outputLimit: 1, input: ['text'] };

/** Offers the demo model, if the demo is among the plugins. */
function offerDemo<Ask extends object, Answer>(host: Host, family: Family<Ask, Answer>): void {
  const { demo, makes } = family;
  const { model } = demo;
  const wire = family.wires.find(({ name }) => name === demo.wire);
  if (!wire?.client) throw new Error(`The demo of ${family.name} needs a wire that clients speak.`);
  const { client } = wire;
  const provider: Provider = {
    name: `demo-${family.name}`,
    endpoints: { [wire.name]: `http://demo.invalid/${family.name}` },
    sign: (request) => request,
  };
  host.onApplied(() => {
    if (!host.providers.find('demo')) return;
    host.providers.add(provider);
    host.catalog.offer(provider, [
      checkModel({ ...usualFacts, output: [makes], protocols: [wire.name], ...model }),
    ]);
    const name = `${family.name}-demo`;
    const isAsked = ({ attempt }: Routed): boolean => attempt.target.provider === provider;
    const answer = ({ attempt, id }: Routed, sent: unknown): UpstreamResponse => {
      attempt.sent = true;
      return answerDemo(family, client, sent, id);
    };
    const answerJson = ({ body }: UpstreamRequest, routed: Routed): UpstreamResponse | undefined =>
      isAsked(routed) ? answer(routed, JSON.parse(Buffer.from(body).toString())) : undefined;
    const answerForm = async (request: UpstreamRequest, routed: Routed) => {
      const type = request.headers['content-type'] ?? '';
      if (!isAsked(routed) || !type.startsWith('multipart/')) return answerJson(request, routed);
      const { source, body } = request;
      const bytes = source ? Buffer.concat(await Array.fromAsync(source.read())) : Buffer.from(body);
      return answer(routed, await readForm(bytes, type));
    };
    // A promise for each call of other models too would cost something.
    if (client.takesForms) host.hooks.dispatch.tapPromise(name, answerForm);
    else host.hooks.dispatch.tap(name, answerJson);
  });
}

export function defineFamily<Ask extends object, Answer>(
  family: Family<Ask, Answer>,
): PluginFactory<z.ZodObject> {
  return definePlugin({
    name: family.name,
    options: z.strictObject({}),
    apply(host) {
      for (const wire of family.wires) {
        host.protocols.add(buildProtocol(family, wire, host.dataFolder));
        if (wire.client?.address) host.addAddress({ protocol: wire.name, ...wire.client.address });
      }
      offerDemo(host, family);
    },
  });
}
