/**
 * A real gateway on a socket, and behind it a fake vendor that gives each recording's reply, whole or in
 * pieces.
 */
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { End, ModelFacts, Operation, Plugin } from '../../core/index.ts';
import { openapi } from '../../plugins/operations/openapi.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { generateContent } from '../../plugins/protocols/generate-content/index.ts';
import { images } from '../../plugins/protocols/images/index.ts';
import { messages } from '../../plugins/protocols/messages/index.ts';
import { responses } from '../../plugins/protocols/responses/index.ts';
import { buildPath, endpoints } from '../support/four-wires.ts';
import { startGateway } from '../support/gateway.ts';
import { isObject } from '../support/json.ts';
import { startScriptedVendor } from '../support/scripted-vendor.ts';
import { acceptAnyKey, testProvider } from '../support/test-provider.ts';
import { isTextProtocol, type RecordedProtocol, type Recording } from './recordings.ts';

export interface Trial {
  readonly recording: Recording;
  /** The protocol of the client that makes the call. */
  readonly client: RecordedProtocol;
  /** Whether the vendor sends its reply in pieces. */
  readonly inPieces: boolean;
  readonly body: object;
}

export interface Outcome {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The model as the client names it. */
  readonly model: string;
  /** What the client sent, and what the vendor received: undefined where it was not asked. */
  readonly sent: string;
  readonly received: string | undefined;
  readonly end: End;
}

/** No reply is sent in more pieces than this: a longer one has larger pieces. */
const mostPieces = 16_000;

async function sendReply(
  response: ServerResponse,
  { reply, status, headers, streamed }: Recording,
  inPieces: boolean,
): Promise<void> {
  const type = headers['content-type'] ?? (streamed ? 'text/event-stream' : 'application/json');
  response.writeHead(status, { ...headers, 'content-type': type });
  if (!inPieces) return void response.end(reply);
  const size = Math.ceil(reply.length / mostPieces);
  response.socket?.setNoDelay(true);
  for (let at = 0; at < reply.length && !response.destroyed; at += size) {
    response.write(reply.subarray(at, at + size));
    await nextTurn();
  }
  response.end();
}

const createImagesEndpoint =
  (origin: string) =>
  (_target: unknown, operation: Operation): string =>
    `${origin}/v1/images/${operation === 'edit' ? 'edits' : 'generations'}`;

/** A model that can do all that the recorded one may have been asked for. */
function buildFacts(
  { recording: { protocol, model, request = {} } }: Trial,
  id: string,
): Partial<ModelFacts> {
  const thinking = isObject(request.thinking) ? request.thinking.type : undefined;
  const style = {
    'chat-completions': 'effort',
    responses: 'effort',
    messages: thinking === 'adaptive' ? 'adaptive' : 'budget',
    'generate-content': 'budget',
    images: undefined,
  } as const;
  const reasoning = style[protocol];
  return {
    id,
    upstream: model,
    contextLength: 1_000_000,
    outputLimit: 100_000,
    input: ['text', 'image', 'audio', 'video', 'pdf'],
    output: protocol === 'images' ? ['image'] : ['text', 'image'],
    price: {
      input: '1',
      output: '2',
      webSearch: '0.01',
      fileSearch: '0.0025',
      container: '0.03',
      modes: { image_generation: { input: '5', output: '40' } },
      ...(protocol === 'images' ? { image: '0.04' } : {}),
    },
    capabilities: {
      hosted: ['web-search', 'code-execution'],
      ...(reasoning && {
        reasoning: {
          style: reasoning,
          ...(reasoning === 'effort' ? { efforts: ['low', 'medium', 'high'] as const } : {}),
          canDisable: true,
        },
      }),
      wire: {
        'chat-completions': {
          extras: true,
          cacheMarks: true,
          outputLimitField: 'max_tokens' in request ? 'max_tokens' : 'max_completion_tokens',
        },
        responses: { cacheMarks: true },
        messages: { midSystem: true },
      },
    },
  };
}

/** Each trial has a provider of its own, so that a fault of one puts no other to rest. */
function createProvider(trial: Trial, number: number, origin: string): Plugin {
  const { protocol } = trial.recording;
  const own = `${origin}/${number}`;
  const endpoint = isTextProtocol(protocol) ? endpoints[protocol](own) : createImagesEndpoint(own);
  return testProvider({
    name: `recorded-${number}`,
    endpoints: { [protocol]: endpoint },
    models: [buildFacts(trial, `recorded/${number}`)],
  });
}

function buildTrialPath({ client, recording: { operation, streamed } }: Trial, model: string): string {
  if (client === 'images') return operation === 'edit' ? '/v1/images/edits' : '/v1/images/generations';
  if (operation !== 'count') return buildPath(client, model, streamed);
  if (client === 'responses') return '/v1/responses/input_tokens';
  return client === 'messages'
    ? '/alpha/v1/messages/count_tokens'
    : `/beta/v1beta/models/${model}:countTokens`;
}

export interface Stage {
  readonly url: string;
  perform(trial: Trial): Promise<Outcome>;
  close(): Promise<void>;
}

export async function openStage(trials: readonly Trial[]): Promise<Stage> {
  const received = new Map<number, string>();
  const vendor = await startScriptedVendor((response, request, body) => {
    const number = Number(/^\/(\d+)\//.exec(request.url ?? '')?.[1]);
    const trial = trials[number];
    received.set(number, body);
    if (trial) void sendReply(response, trial.recording, trial.inPieces);
    else response.writeHead(404).end();
  });
  const protocols = [chatCompletions(), responses(), messages(), generateContent(), images()];
  const providers = trials.map((trial, number) => createProvider(trial, number, vendor.origin));
  const gateway = await startGateway({
    timeouts: { firstEvent: 120, reply: 120, idle: 120 },
    plugins: [acceptAnyKey(), openapi(), ...protocols, ...providers],
  });
  return {
    url: gateway.url,
    async perform(trial) {
      const number = trials.indexOf(trial);
      const model = `recorded/${number}`;
      const sent = JSON.stringify(
        trial.client === 'generate-content' ? trial.body : { ...trial.body, model },
      );
      const response = await fetch(gateway.url + buildTrialPath(trial, model), {
        method: 'POST',
        headers: {
          authorization: 'Bearer any-key',
          'content-type': 'application/json',
          ...(trial.client === 'messages' ? { 'anthropic-version': '2023-06-01' } : {}),
        },
        body: sent,
      });
      const text = await response.text();
      const id = response.headers.get('x-request-id');
      for (let seen = 0; ; seen = gateway.ends.length) {
        const end = gateway.ends.find(({ exchange }) => exchange.id === id);
        if (end)
          return {
            status: response.status,
            headers: response.headers,
            text,
            model,
            sent,
            received: received.get(number),
            end,
          };
        await gateway.ended(seen + 1);
      }
    },
    async close() {
      await gateway.close();
      await vendor.close();
    },
  };
}
