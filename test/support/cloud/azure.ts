/** Azure in front of fakes of OpenAI: it checks the key or the token, and turns its paths into OpenAI's. */
import { z } from 'zod';
import { startImagesVendor, type ImageCall } from '../vendor/images.ts';
import { startOpenaiVendor } from '../vendor/index.ts';
import type { Stage } from '../vendor/stage.ts';
import { startCloud, type Arrived, type Cloud, type Onward, type Refusal } from './front.ts';

export const key = 'azure-resource-key-0123456789';
export const otherKey = 'azure-resource-key-9876543210';

export interface Azure extends Cloud {
  readonly vendor: Stage;
  readonly painter: Stage<ImageCall>;
  /** Keys of the resource that are over their limit. */
  readonly full: Set<string>;
  /** Tokens that were issued to the machine's identity. */
  readonly given: number;
  /** Refuses every token issued so far. */
  revoke(): void;
}

const named = z.looseObject({ model: z.string() });
/** Deployments of this resource, by their names, and their models. */
const deployments: Readonly<Record<string, string>> = {
  'gpt-4o-mini': 'gpt-4o-mini',
  'gpt-5': 'gpt-5',
  'our-mini': 'gpt-4o-mini',
};

function refuse(status: number, code: string, message: string): Refusal {
  return { status, body: { error: { code, message } } };
}

const version = 'api-version=2025-04-01-preview';
const chat = /deployments\/([\w.-]+)\/(chat\/completions)/.source;
const dated = new RegExp(`^/openai/(?:${chat}|(responses(?:/input_tokens)?))\\?${version}$`);
const undated = /^\/openai\/v1\/(chat\/completions|responses(?:\/input_tokens)?)(?:\?api-version=preview)?$/;

function routeToVendor(vendor: Stage, path: string, body: Buffer): Onward | Refusal {
  const [, inPath, chat, responses] = dated.exec(path) ?? [];
  const method = chat ?? responses ?? undated.exec(path)?.[1];
  const request = named.parse(JSON.parse(body.toString()));
  const model = deployments[inPath ?? request.model];
  if (!method || !model)
    return refuse(404, 'DeploymentNotFound', 'The API deployment for this resource does not exist.');
  return {
    url: `${vendor.url}/${method}`,
    headers: { authorization: `Bearer ${vendor.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...request, model }),
    dress,
  };
}

const deployed = `deployments/(gpt-image-1)/images/(generations|edits)\\?${version}`;
const picture = new RegExp(`^/openai/(?:${deployed}|v1/images/(generations|edits))$`);

/** Its deployments of image models are named like them. */
function routeToPainter(
  { url, key: secret }: Stage<ImageCall>,
  { path, headers, body }: Arrived,
): Onward | undefined {
  const [isOne, , dated = '', undated = dated] = picture.exec(path) ?? [];
  const type = headers['content-type'] ?? '';
  return isOne === undefined
    ? undefined
    : {
        url: `${url}/images/${undated}`,
        headers: { authorization: `Bearer ${secret}`, 'content-type': type },
        body: Buffer.from(body),
      };
}

/** Azure's chat streams begin with its filter's verdict on the prompt. */
const filterChunk =
  'data: {"choices":[],"created":0,"id":"","model":"","object":"",' +
  '"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,' +
  '"severity":"safe"}}}]}\n\n';

function dress(reply: Response, body: AsyncIterable<Uint8Array>): ReturnType<NonNullable<Onward['dress']>> {
  const type = reply.headers.get('content-type') ?? 'application/json';
  const isChat = type.includes('event-stream') && reply.url.endsWith('/chat/completions');
  return {
    headers: { 'content-type': type, 'apim-request-id': 'a' },
    body: isChat ? prependFilter(body) : body,
  };
}

async function* prependFilter(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield Buffer.from(filterChunk);
  yield* body;
}

/**
 * It serves the identity of the machine as well, as App Service does: at `/identity`, with a secret of its
 * own.
 */
export async function startAzure(): Promise<Azure> {
  const [vendor, painter] = await Promise.all([startOpenaiVendor(), startImagesVendor()]);
  const full = new Set<string>();
  let given = 0;
  const taken = new Set<string>();
  const cloud = await startCloud((arrived) => {
    const { path, headers, body } = arrived;
    if (path.startsWith('/identity?')) {
      const { resource } = Object.fromEntries(new URL(path, 'http://machine').searchParams);
      if (
        headers['x-identity-header'] !== 'machine-secret' ||
        resource !== 'https://cognitiveservices.azure.com'
      )
        return refuse(400, 'bad_request', 'no identity');
      given += 1;
      taken.add(`Bearer entra-${given}`);
      return {
        status: 200,
        body: {
          access_token: `entra-${given}`,
          expires_on: String(Math.floor(Date.now() / 1000) + 86_400),
          resource,
          token_type: 'Bearer',
        },
      };
    }
    const shown = String(headers['api-key']);
    if (full.has(shown))
      return {
        ...refuse(429, '429', 'Requests have exceeded the call rate limit of your pricing tier.'),
        headers: { 'retry-after': '60' },
      };
    const isKnown = shown === key || shown === otherKey || taken.has(headers.authorization ?? '');
    return isKnown
      ? (routeToPainter(painter, arrived) ?? routeToVendor(vendor, path, body))
      : refuse(401, '401', `Access denied due to invalid subscription key: ${headers['api-key']}`);
  });
  return {
    ...cloud,
    vendor,
    painter,
    full,
    get given() {
      return given;
    },
    revoke: () => taken.clear(),
    async close() {
      await cloud.close();
      await Promise.all([vendor.close(), painter.close()]);
    },
  };
}
