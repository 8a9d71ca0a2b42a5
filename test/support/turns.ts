/** Canonical turns and blocks, as short as a test can write them. */
import type { Block, CanonicalRequest, Model, Protocol, Turn } from '../../core/index.ts';
import { isObject } from './json.ts';

type Kind<K extends Block['type']> = Extract<Block, { type: K }>;

export function text(said: string, more: Partial<Kind<'text'>> = {}): Kind<'text'> {
  return { type: 'text', text: said, ...more };
}

/** A turn of a role. A string is a block of text. */
function createTurnBuilder(role: Turn['role']): (...blocks: (Block | string)[]) => Turn {
  return (...blocks) => ({
    role,
    blocks: blocks.map((block) => (typeof block === 'string' ? text(block) : block)),
  });
}

export const system = createTurnBuilder('system');
export const developer = createTurnBuilder('developer');
export const user = createTurnBuilder('user');
export const assistant = createTurnBuilder('assistant');
export const tool = createTurnBuilder('tool');
export const ahoy = user('Ahoy');

export function call(id: string, name = 'f', more: Partial<Kind<'tool-call'>> = {}): Kind<'tool-call'> {
  return { type: 'tool-call', id, name, arguments: '{}', ...more };
}

type Result = Kind<'tool-result'>;

export function result(
  callId: string,
  said: string | Result['content'] = 'ok',
  more: Partial<Result> = {},
): Result {
  return { type: 'tool-result', callId, content: typeof said === 'string' ? [text(said)] : said, ...more };
}

type Media = Kind<'media'>;

/** A file by its source: a string is a URL, or else base64 data. */
export function file(
  kind: Media['kind'],
  source: Media['source'] | string,
  more: Partial<Media> = {},
): Media {
  if (typeof source === 'object') return { type: 'media', kind, source, ...more };
  const read = source.includes('://')
    ? { type: 'url' as const, url: source }
    : { type: 'base64' as const, data: source };
  return { type: 'media', kind, source: read, ...more };
}

interface Encoded {
  readonly body: Record<string, unknown>;
  /** The paths that were lost. */
  readonly lost: string[];
}

/** Encodes requests, as another protocol's client may have made them, for a model of this protocol. */
export function createEncoder(
  { upstream }: Protocol,
  usual: () => Model,
): (request: Partial<CanonicalRequest>, model?: Model, limit?: number) => Encoded {
  return (request, model = usual(), limit = undefined) => {
    const whole = { model: 'a/b', stream: false, turns: [ahoy], ...request };
    const { body, losses } = upstream.encodeRequest(whole, model, limit);
    const plain: unknown = JSON.parse(JSON.stringify(body));
    if (!isObject(plain)) throw new Error('no body');
    return { body: plain, lost: losses.map(({ path }) => path) };
  };
}
