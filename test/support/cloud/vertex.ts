/** Vertex in front of fakes of Google and Anthropic: it checks tokens, and unwraps requests strictly. */
import { z } from 'zod';
import { startGenerateContentVendor, type GeminiRequest } from '../vendor/generate-content.ts';
import { startMessagesVendor, type MessagesRequest } from '../vendor/messages.ts';
import type { Stage } from '../vendor/stage.ts';
import { startCloud, type Arrived, type Cloud, type Onward, type Refusal } from './front.ts';

const wrapped = z.looseObject({ anthropic_version: z.literal('vertex-2023-10-16') });

export interface Vertex extends Cloud {
  readonly claude: Stage<MessagesRequest>;
  readonly gemini: Stage<GeminiRequest>;
}

function refuse(code: number, status: string, message: string): Refusal {
  return { status: code, body: { error: { code, message, status } } };
}

const models = /publishers\/(google|anthropic)\/models\/([^/:]+):(\w+)(\?alt=sse)?/.source;
const address = new RegExp(`^/v1/projects/house/locations/europe-west1/${models}$`);

function routeToGemini({ url, key }: Stage<GeminiRequest>, { path, body }: Arrived): Onward | Refusal {
  const isCount = path.endsWith(':countTokens');
  if (isCount && body.includes('generateContentRequest'))
    return refuse(
      400,
      'INVALID_ARGUMENT',
      'Invalid JSON payload received. Unknown name "generateContentRequest": Cannot find field.',
    );
  return {
    url: `${new URL(url).origin}${path.replace('/v1/', '/v1beta1/')}`,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: body.toString(),
  };
}

function routeToClaude(
  { url, key }: Stage<MessagesRequest>,
  { headers, body }: Arrived,
  name: string,
  method: string,
): Onward | Refusal {
  const { anthropic_version: _, ...inner } = wrapped.parse(JSON.parse(body.toString()));
  const isCount = name === 'count-tokens';
  const named = isCount ? String(inner.model) : name;
  if (isCount ? method !== 'rawPredict' : 'model' in inner)
    return refuse(400, 'INVALID_ARGUMENT', 'model: Extra inputs are not permitted');
  if ((method === 'streamRawPredict') !== (inner.stream === true))
    return refuse(400, 'INVALID_ARGUMENT', 'stream: another method');
  const betas = headers['anthropic-beta'];
  return {
    url: `${url}/v1/messages${isCount ? '/count_tokens' : ''}`,
    headers: {
      'x-api-key': key,
      'anthropic-version': '2023-06-01',
      'content-type': 'application/json',
      ...(betas ? { 'anthropic-beta': String(betas) } : {}),
    },
    body: JSON.stringify({ ...inner, model: named.replace(/@.*/, '') }),
  };
}

/** `token` returns the one that is valid now. */
export async function startVertex(token: () => string): Promise<Vertex> {
  const [claude, gemini] = await Promise.all([startMessagesVendor(), startGenerateContentVendor()]);
  const cloud = await startCloud((arrived) => {
    if (arrived.headers.authorization !== `Bearer ${token()}`)
      return refuse(
        401,
        'UNAUTHENTICATED',
        `Request had invalid authentication credentials: ${arrived.headers.authorization}`,
      );
    const [, publisher, name = '', method = ''] = address.exec(arrived.path) ?? [];
    if (publisher === 'google') return routeToGemini(gemini, arrived);
    return publisher === 'anthropic'
      ? routeToClaude(claude, arrived, name, method)
      : refuse(404, 'NOT_FOUND', 'Publisher Model was not found.');
  });
  return {
    ...cloud,
    claude,
    gemini,
    async close() {
      await cloud.close();
      await Promise.all([claude.close(), gemini.close()]);
    },
  };
}
