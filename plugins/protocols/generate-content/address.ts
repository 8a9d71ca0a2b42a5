/**
 * The addresses of this protocol name the model and the method: `/v1beta/models/<owner>/<name>:<method>`. The
 * SDKs differ: some leave out `models/`, some call `v1`. A model's name may hold slashes and colons, so it
 * ends at the last colon.
 */
import type { Match } from '../../../core/index.ts';

const methods: Readonly<Record<string, Pick<Match, 'operation' | 'stream'>>> = {
  generateContent: { operation: 'generate', stream: false },
  streamGenerateContent: { operation: 'generate', stream: true },
  countTokens: { operation: 'count', stream: false },
};

/** The text of the 404 for any other method. */
export const servedMethods = `the methods of a model here are ${Object.keys(methods).join(', ')}`;

const callPath = /^\/(?:v1beta|v1)\/(?:models\/)?(.+):(\w+)$/s;

/** A stream is a JSON array unless the client asks for events. */
function readFraming(query: string | undefined): 'events' | 'array' {
  const parameters = new URLSearchParams(query);
  return (parameters.get('alt') ?? parameters.get('$alt')) === 'sse' ? 'events' : 'array';
}

/** Builds the function that recognises this protocol's calls below `mount`. */
export function buildMatcher(
  mount: string,
): (method: string, path: string, query?: string) => Match | undefined {
  return (method, path, query) => {
    if (method !== 'POST' || !path.startsWith(`${mount}/`)) return undefined;
    const [, model, name = ''] = callPath.exec(path.slice(mount.length)) ?? [];
    const found = Object.hasOwn(methods, name) ? methods[name] : undefined;
    if (model === undefined || !found) return undefined;
    return { ...found, model, ...(found.stream ? { framing: readFraming(query) } : {}) };
  };
}
