/**
 * Writes messages as Bedrock wants them: version and betas are in the body instead of headers, the model and
 * whether to stream are only in the address, and a count is a whole call in base64.
 */
import { splice, type Edit, type Operation, type Target, type UpstreamRequest } from '../../../core/index.ts';
import { toBodyText } from '../../shared/cloud/body-text.ts';

const version = 'bedrock-2023-05-31';

export function wrap(
  request: UpstreamRequest,
  { model, protocol }: Target,
  operation: Operation,
): UpstreamRequest {
  // OpenAI's APIs are served as they are.
  if (protocol.name !== 'messages') return request;
  const betas = request.headers['anthropic-beta'];
  const headers = Object.fromEntries(
    Object.entries(request.headers).filter(([name]) => !name.startsWith('anthropic-')),
  );
  const edits: Edit[] = [
    { path: ['anthropic_version'], value: version },
    { path: ['model'], value: undefined },
    { path: ['stream'], value: undefined },
  ];
  if (betas) edits.push({ path: ['anthropic_beta'], value: betas.split(',').map((beta) => beta.trim()) });
  // Bedrock reads a count as a call, and a call needs an output limit that is above its budget for thinking.
  if (operation === 'count') edits.push({ path: ['max_tokens'], value: model.outputLimit });
  const body = splice(toBodyText(request), edits);
  if (operation !== 'count') return { ...request, headers, body };
  return {
    ...request,
    headers,
    body: JSON.stringify({ input: { invokeModel: { body: Buffer.from(body).toString('base64') } } }),
  };
}
