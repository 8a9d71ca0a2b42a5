/** Azure before a fake of OpenAI's: the key or the token is checked, and its addresses are OpenAI's again. */
import { z } from 'zod';
import { startOpenaiVendor } from '../vendor/index.ts';
import type { Stage } from '../vendor/stage.ts';
import { startCloud, type Cloud, type Onward, type Refusal } from './front.ts';

export const key = 'azure-resource-key-0123456789';

export interface Azure extends Cloud {
  readonly vendor: Stage;
  /** Tokens that the machine's identity was given. */
  readonly given: number;
  /** Takes no token that was given so far. */
  revoke(): void;
}

const named = z.looseObject({ model: z.string() });
/** Deployments of this resource, by their names, and the models they are. */
const deployments: Readonly<Record<string, string>> = { 'gpt-4o-mini': 'gpt-4o-mini', 'gpt-5': 'gpt-5', 'our-mini': 'gpt-4o-mini' };

function refuse(status: number, code: string, message: string): Refusal {
  return { status, body: { error: { code, message } } };
}

const dated = /^\/openai\/(?:deployments\/([\w.-]+)\/(chat\/completions)|(responses(?:\/input_tokens)?))\?api-version=2025-04-01-preview$/;
const undated = /^\/openai\/v1\/(chat\/completions|responses(?:\/input_tokens)?)(?:\?api-version=preview)?$/;

function onward(vendor: Stage, path: string, body: Buffer): Onward | Refusal {
  const [, inPath, chat, responses] = dated.exec(path) ?? [];
  const method = chat ?? responses ?? undated.exec(path)?.[1];
  const request = named.parse(JSON.parse(body.toString()));
  const model = deployments[inPath ?? request.model];
  if (!method || !model) return refuse(404, 'DeploymentNotFound', 'The API deployment for this resource does not exist.');
  return { url: `${vendor.url}/${method}`, headers: { authorization: `Bearer ${vendor.key}`, 'content-type': 'application/json' }, body: JSON.stringify({ ...request, model }), dress };
}

/** Azure's streams of chat begin with what its filter says of the prompt. */
const filterChunk = 'data: {"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}\n\n';

function dress(reply: Response, body: AsyncIterable<Uint8Array>): ReturnType<NonNullable<Onward['dress']>> {
  const type = reply.headers.get('content-type') ?? 'application/json';
  const isChat = type.includes('event-stream') && reply.url.endsWith('/chat/completions');
  return { headers: { 'content-type': type, 'apim-request-id': 'a' }, body: isChat ? begun(body) : body };
}

async function* begun(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield Buffer.from(filterChunk);
  yield* body;
}

/** It serves the identity of the machine as well, as App Service does: at `/identity`, with a secret of its own. */
export async function startAzure(): Promise<Azure> {
  const vendor = await startOpenaiVendor();
  let given = 0;
  const taken = new Set<string>();
  const cloud = await startCloud(({ path, headers, body }) => {
    if (path.startsWith('/identity?')) {
      const { resource } = Object.fromEntries(new URL(path, 'http://machine').searchParams);
      if (headers['x-identity-header'] !== 'machine-secret' || resource !== 'https://cognitiveservices.azure.com') return refuse(400, 'bad_request', 'no identity');
      given += 1;
      taken.add(`Bearer entra-${given}`);
      return { status: 200, body: { access_token: `entra-${given}`, expires_on: String(Math.floor(Date.now() / 1000) + 86_400), resource, token_type: 'Bearer' } };
    }
    const isKnown = headers['api-key'] === key || taken.has(headers.authorization ?? '');
    return isKnown ? onward(vendor, path, body) : refuse(401, '401', `Access denied due to invalid subscription key: ${headers['api-key']}`);
  });
  return {
    ...cloud, vendor,
    get given() {
      return given;
    },
    revoke: () => taken.clear(),
    async close() {
      await cloud.close();
      await vendor.close();
    },
  };
}
