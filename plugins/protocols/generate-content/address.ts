/**
 * The addresses of this protocol, which name the model and the method: `/v1beta/models/<owner>/<name>:<method>`. The
 * SDKs differ in details (some leave `models/` out, some ask for `v1`), and a model's name may hold slashes and
 * colons, so it goes up to the last colon.
 */
import type { Match } from '../../../core/index.ts';

const methods: Readonly<Record<string, Pick<Match, 'operation' | 'stream'>>> = {
  generateContent: { operation: 'generate', stream: false },
  streamGenerateContent: { operation: 'generate', stream: true },
  countTokens: { operation: 'count', stream: false },
};

/** What the 404 of any other method tells. */
export const served = `the methods of a model here are ${Object.keys(methods).join(', ')}`;

const below = /^\/(?:v1beta|v1)\/(?:models\/)?(.+):(\w+)$/s;

/** A stream is an array of JSON unless events are asked for. */
function framingOf(query: string | undefined): 'events' | 'array' {
  const asked = new URLSearchParams(query);
  return (asked.get('alt') ?? asked.get('$alt')) === 'sse' ? 'events' : 'array';
}

/** Passed the address everything of this protocol stands below; the answer is how a protocol tells its calls. */
export function matcher(mount: string): (method: string, path: string, query?: string) => Match | undefined {
  return (method, path, query) => {
    if (method !== 'POST' || !path.startsWith(`${mount}/`)) return undefined;
    const [, model, name = ''] = below.exec(path.slice(mount.length)) ?? [];
    const asked = Object.hasOwn(methods, name) ? methods[name] : undefined;
    if (model === undefined || !asked) return undefined;
    return { ...asked, model, ...(asked.stream ? { framing: framingOf(query) } : {}) };
  };
}
