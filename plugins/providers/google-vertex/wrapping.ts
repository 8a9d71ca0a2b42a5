/**
 * Writes requests as Vertex wants them. Messages have their version in the body and the model only in the
 * address. Generate-content is unchanged, except that a count holds no nested request.
 */
import { splice, type Operation, type Target, type UpstreamRequest } from '../../../core/index.ts';
import { toBodyText } from '../../shared/cloud/body-text.ts';
import { isObject } from '../../shared/wire-kit/vendor-bag.ts';

const version = 'vertex-2023-10-16';

/** All members that a count takes, in both spellings of this wire. */
const counted: ReadonlySet<string> = new Set([
  'contents',
  'systemInstruction',
  'system_instruction',
  'tools',
  'generationConfig',
  'generation_config',
]);

function toCountBody(text: string): string {
  const body: unknown = JSON.parse(text);
  if (!isObject(body)) return text;
  const inner = body.generateContentRequest ?? body.generate_content_request ?? body;
  return JSON.stringify(Object.fromEntries(Object.entries(inner).filter(([name]) => counted.has(name))));
}

export function wrap(request: UpstreamRequest, { protocol }: Target, operation: Operation): UpstreamRequest {
  if (protocol.name !== 'messages')
    return operation === 'count' ? { ...request, body: toCountBody(toBodyText(request)) } : request;
  const { 'anthropic-version': _, ...headers } = request.headers;
  const isCount = operation === 'count';
  const withoutModel = isCount ? [] : [{ path: ['model'] as const, value: undefined }];
  const body = splice(toBodyText(request), [
    { path: ['anthropic_version'], value: version },
    ...withoutModel,
  ]);
  return { ...request, headers, body };
}
