/**
 * Makes a plugin of a family: a protocol of each wire, the models that its calls can reach, and the demo
 * model.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import {
  checkModel,
  definePlugin,
  GatewayError,
  type CanonicalRequest,
  type ClientSide,
  type Host,
  type PluginFactory,
  type Protocol,
  type Provider,
  type Target,
} from '../../../core/index.ts';
import { listForeignFields } from '../wire-kit/foreign-fields.ts';
import { collectLosses } from '../wire-kit/losses.ts';
import { ReadCall } from '../wire-kit/read-call.ts';
import { createBag } from '../wire-kit/vendor-bag.ts';
import { dropZeros, writeJoined } from './join-replies.ts';
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

const neverStreamed = 'Calls of this kind are not streamed.';

function buildClient<Ask extends object, Answer>(
  family: Family<Ask, Answer>,
  wire: Wire<Ask, Answer>,
  client: ClientWire<Ask, Answer> | undefined,
): ClientSide {
  const getAsk = (request: CanonicalRequest): Ask => readAsk(family, request);
  return {
    match: (method, path) => client?.match(method, path),
    read(body, _text, match) {
      if (!client) throw new GatewayError('not_found', `Clients cannot speak ${wire.name}.`);
      const read = client.read(body, match);
      checkPreferences(read);
      return new FamilyCall(read, { wire: wire.name, family: family.name });
    },
    fieldNames: client?.fieldNames ?? {},
    encodeEvents: () => ({ push: () => '' }),
    /** The verbatim lane asks for it, to correct the usage. */
    encodeReply(events, { id, model, created, call }) {
      const usage = events.find((event) => event.type === 'usage')?.usage ?? {};
      const texts = client?.write(family.join([], getAsk(call.decode())), getAsk(call.decode()), {
        id,
        model,
        created,
        usage,
      });
      return JSON.parse([...(texts ?? [])].join(''));
    },
    ...(client && {
      joinReplies(replies, context) {
        const own = family.wires.find(({ name }) => name === replies.wire.name);
        if (!own) throw new GatewayError('internal', `${replies.wire.name} is no wire of ${family.name}.`);
        return writeJoined(family, [own, client, getAsk(replies.request)], replies, context);
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
): Protocol {
  const { name, client } = wire;
  return {
    name,
    body: 'json',
    makes: family.makes,
    ...(wire.flags && { capabilities: wire.flags }),
    client: buildClient(family, wire, client),
    upstream: {
      buildHeaders: () => ({}),
      retarget: ({ model }) => [
        { path: ['model'], value: model },
        { path: ['provider'], value: undefined },
      ],
      encodeRequest(request, model) {
        const { losses, lose } = collectLosses();
        const rest = createBag(name).getFields(request);
        const [body, ...others] = wire.encode(readAsk(family, request), model, { lose, rest });
        return { body, others, losses: [...losses, ...listForeignFields(request, name)] };
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

/** Offers the demo model, if the demo is among the plugins. */
function offerDemo<Ask extends object, Answer>(host: Host, family: Family<Ask, Answer>): void {
  const { demo } = family;
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
    host.catalog.offer(provider, [checkModel(demo.model)]);
    host.hooks.dispatch.tap(`${family.name}-demo`, ({ body }, { attempt, id }) => {
      if (attempt.target.provider !== provider) return undefined;
      attempt.sent = true;
      const match = client.match('POST', family.path) ?? { operation: 'generate' };
      // It may be one of several bodies of the call.
      const { ask } = client.read(JSON.parse(Buffer.from(body).toString()), match);
      const { answer, usage } = demo.answer(ask);
      const texts = client.write(answer, ask, { id, model: demo.model.id, created: 0, usage });
      async function* write(): AsyncGenerator<Uint8Array> {
        for (const text of texts) {
          yield Buffer.from(text);
          await nextTurn();
        }
      }
      return { status: 200, headers: { 'content-type': 'application/json' }, body: write() };
    });
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
        host.protocols.add(buildProtocol(family, wire));
        if (wire.client?.address) host.addAddress({ protocol: wire.name, ...wire.client.address });
      }
      offerDemo(host, family);
    },
  });
}
