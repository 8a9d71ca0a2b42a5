/**
 * Bedrock in front of a fake of Anthropic: it checks signatures, unwraps requests strictly, and frames
 * streams.
 */
import { z } from 'zod';
import { startMessagesVendor, type MessagesRequest } from '../vendor/messages.ts';
import type { Stage } from '../vendor/stage.ts';
import { buildChunkFrame, buildExceptionFrame } from './event-frames.ts';
import { startCloud, type Arrived, type Cloud, type Onward, type Refusal } from './front.ts';
import { checkSignature, type Keys } from './sigv4.ts';

export const keys: Keys = {
  id: 'AKIDTESTTESTTESTTEST',
  secret: 'a-made-up-secret/0123456789+abcdefghij',
  region: 'eu-central-1',
  service: 'bedrock',
};

const wrapped = z.looseObject({
  anthropic_version: z.literal('bedrock-2023-05-31'),
  anthropic_beta: z.array(z.string()).optional(),
  model: z.never().optional(),
  stream: z.never().optional(),
});
const counting = z.strictObject({
  input: z.strictObject({ invokeModel: z.strictObject({ body: z.base64() }) }),
});

function refuse(status: number, kind: string, message: string): Refusal {
  return {
    status,
    headers: { 'x-amzn-errortype': `${kind}:http://internal.amazon.com/coral/com.amazon.bedrock/` },
    body: { message },
  };
}

/** Anthropic's errors in Bedrock's format. */
async function* convertError(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { error } = z
    .object({ error: z.object({ message: z.string() }) })
    .parse(JSON.parse(Buffer.concat(await Array.fromAsync(body)).toString()));
  yield Buffer.from(JSON.stringify({ message: error.message }));
}

async function* countBody(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { input_tokens: inputTokens } = z
    .object({ input_tokens: z.int() })
    .parse(JSON.parse(Buffer.concat(await Array.fromAsync(body)).toString()));
  yield Buffer.from(JSON.stringify({ inputTokens }));
}

/** Each server-sent event in a frame of its own; the last has the measurements that the cloud adds. */
async function* frameEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let text = '';
  for await (const chunk of body) {
    text += Buffer.from(chunk).toString('utf8');
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1] ?? '';
      text = text.slice(end + 2);
      if (data.startsWith('{"type":"error"'))
        yield buildExceptionFrame('modelStreamErrorException', 'The model broke off.');
      else if (data)
        yield buildChunkFrame(
          data.replace(
            /^\{"type":"message_stop"/,
            '{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":1,' +
              '"outputTokenCount":2}',
          ),
        );
    }
  }
}

const dressings = {
  invoke: undefined,
  'invoke-with-response-stream': frameEvents,
  'count-tokens': countBody,
} as const;

function isMethod(name: string): name is keyof typeof dressings {
  return name in dressings;
}

function read(body: Buffer, isCount: boolean): z.output<typeof wrapped> {
  const text: unknown = JSON.parse(body.toString());
  return wrapped.parse(
    isCount
      ? JSON.parse(Buffer.from(counting.parse(text).input.invokeModel.body, 'base64').toString())
      : text,
  );
}

function routeToVendor(vendor: Stage<MessagesRequest>, { path, body }: Arrived): Onward | Refusal {
  const [, name = '', method = ''] = /^\/model\/([^/]+)\/([\w-]+)$/.exec(path) ?? [];
  const [, profile, model] =
    /^(?:(global|us|eu)\.)?anthropic\.(claude-.*?)(?:-\d{8})?(?:-v\d+(?::\d+)?)?$/.exec(
      decodeURIComponent(name),
    ) ?? [];
  if (!isMethod(method) || !model)
    return refuse(
      404,
      'ResourceNotFoundException',
      'Could not resolve the foundation model from the provided model identifier.',
    );
  const isCount = method === 'count-tokens';
  if (isCount && (profile !== undefined || model.includes('opus')))
    return refuse(400, 'ValidationException', "The provided model doesn't support counting tokens.");
  const { anthropic_version: _, anthropic_beta: betas, max_tokens: limit, ...rest } = read(body, isCount);
  if (limit === undefined) return refuse(400, 'ValidationException', 'max_tokens: Field required');
  const inner = {
    ...rest,
    model,
    ...(isCount ? {} : { max_tokens: limit }),
    ...(method === 'invoke-with-response-stream' ? { stream: true } : {}),
  };
  return {
    url: `${vendor.url}/v1/messages${isCount ? '/count_tokens' : ''}`,
    headers: {
      'x-api-key': vendor.key,
      'anthropic-version': '2023-06-01',
      'content-type': 'application/json',
      ...(betas ? { 'anthropic-beta': betas.join(',') } : {}),
    },
    body: JSON.stringify(inner),
    dress({ status }, reply) {
      if (status !== 200)
        return {
          headers: {
            'content-type': 'application/json',
            ...(status === 529 ? { 'x-amzn-errortype': 'ServiceUnavailableException' } : {}),
          },
          body: convertError(reply),
        };
      const dress = dressings[method];
      return {
        headers: {
          'content-type': dress === frameEvents ? 'application/vnd.amazon.eventstream' : 'application/json',
        },
        body: dress?.(reply) ?? reply,
      };
    },
  };
}

export interface Bedrock extends Cloud {
  readonly vendor: Stage<MessagesRequest>;
}

export async function startBedrock(): Promise<Bedrock> {
  const vendor = await startMessagesVendor();
  const cloud = await startCloud((arrived) => {
    if (arrived.headers['anthropic-version'] ?? arrived.headers['anthropic-beta'])
      return refuse(400, 'ValidationException', 'a header that belongs into the body');
    const fault =
      arrived.headers.authorization === 'Bearer bedrock-api-key' ? undefined : checkSignature(arrived, keys);
    return fault === undefined
      ? routeToVendor(vendor, arrived)
      : refuse(
          403,
          'InvalidSignatureException',
          `The request signature we calculated does not match (${fault}); check ${keys.secret}.`,
        );
  });
  return {
    ...cloud,
    vendor,
    async close() {
      await cloud.close();
      await vendor.close();
    },
  };
}
