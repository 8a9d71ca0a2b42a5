/** Parts of the addresses and bodies that clouds take. */
import { GatewayError, type Operation, type Target, type UpstreamRequest } from '../../../core/index.ts';

const safeSegment = /^[\w@~+.-]+$/;

/** A model's name as a path. Throws if a segment could lead elsewhere: `..`, `?`, `:method`. */
export function checkUrlPath(name: string): string {
  const isSafe = name.split('/').every((segment) => safeSegment.test(segment) && !/^\.+$/.test(segment));
  if (!isSafe)
    throw new GatewayError(
      'internal',
      `The model "${name.slice(0, 100)}" has a name that cannot be part of a URL.`,
    );
  return name;
}

/** The path of a Gemini model's method. Without `alt=sse` a stream is one array of JSON. */
export function buildGeminiPath({ model }: Target, operation: Operation, stream: boolean): string {
  const generate = stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
  return `models/${checkUrlPath(model.upstream)}:${operation === 'count' ? 'countTokens' : generate}`;
}

export function toBodyText({ body }: UpstreamRequest): string {
  return typeof body === 'string' ? body : Buffer.from(body).toString('utf8');
}
