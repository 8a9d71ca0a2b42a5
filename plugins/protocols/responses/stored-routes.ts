/** Serves what is kept: responses, what they were asked, and their deletion. */
import {
  GatewayError,
  parseExactly,
  sliceMember,
  type Host,
  type Principal,
  type Route,
  type RouteReply,
  type RouteRequest,
} from '../../../core/index.ts';
import { readObject } from '../../shared/wire-kit/values.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { buildFieldError } from '../../shared/wire-kit/wire-check.ts';
import { listInput, setText } from './expansion.ts';
import { conversationState, isId, type Found, type Stored } from './stored.ts';

/** Some base URLs have no version. */
const bases = ['/v1', ''];

export interface StoredRequest extends RouteRequest {
  readonly account: string;
}

export interface StoredRoute {
  readonly name: string;
  readonly method: Route['method'];
  readonly path: string;
  handle(request: StoredRequest): Promise<RouteReply>;
}

/** The routes at each base, for user keys. */
export function addRoutes(
  { routes }: Pick<Host, 'routes'>,
  list: readonly StoredRoute[],
  encodeError: Route['encodeError'],
): void {
  for (const base of bases)
    for (const { name, path, handle, method } of list)
      routes.add({
        name: `${name} at ${base}/`,
        method,
        path: base + path,
        access: 'user',
        encodeError,
        handle: (request, { account }: Principal) => handle({ ...request, account }),
      });
}

export function buildJson(body: unknown): RouteReply {
  return { status: 200, headers: { 'cache-control': 'no-store' }, body };
}

function sendText(body: string): RouteReply {
  return { status: 200, headers: { 'cache-control': 'no-store', 'content-type': 'application/json' }, body };
}

export function buildNotFound(kind: string, id: string | undefined): GatewayError {
  return new GatewayError('not_found', `${kind} with id '${id?.slice(0, 100)}' not found.`);
}

/** An item with the fields that clients need to find it and to read it. */
export function completeItem(text: string, id: string): Fields {
  const item = readObject(parseExactly(text));
  const { type = 'message', role, content } = item;
  if (type !== 'message') return { id, ...item };
  const part = role === 'assistant' ? { type: 'output_text', annotations: [] } : { type: 'input_text' };
  const parts = typeof content === 'string' ? [{ ...part, text: content }] : content;
  return { id, status: 'completed', ...item, type, content: parts };
}

const [usual, most] = [20, 100];

/** A page of a list, as `after`, `limit` and `order` ask. The newest comes first unless stated otherwise. */
export function buildPage(all: readonly Fields[], query: URLSearchParams): RouteReply {
  const order = query.get('order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc')
    throw buildFieldError('order', `is ${JSON.stringify(order)}`, '"asc" or "desc"');
  const limit = Number(query.get('limit') ?? usual);
  if (!Number.isInteger(limit) || limit < 1 || limit > most)
    throw buildFieldError('limit', 'is out of range', `a whole number from 1 to ${most}`);
  const sorted = order === 'asc' ? all : all.toReversed();
  const after = query.get('after');
  const from = after === null ? 0 : sorted.findIndex(({ id }) => id === after) + 1;
  if (after !== null && from === 0)
    throw buildFieldError('after', 'names no item of the list', 'the last id');
  const data = sorted.slice(from, from + limit);
  return buildJson({
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: from + limit < sorted.length,
  });
}

export async function requireResponse(stored: Stored, { account, params }: StoredRequest): Promise<Found> {
  const found = await stored.find(account, params.id);
  if (!found || found.state === conversationState) throw buildNotFound('Response', params.id);
  return found;
}

/** A response with its output. */
export async function showResponse(stored: Stored, account: string, id: string, reply: string) {
  const output = await stored.listItems(account, id);
  return sendText(setText(reply, 'output', `[${output.map(({ text }) => text).join(',')}]`));
}

export function listResponseRoutes(
  getStored: () => Stored,
  describe: (found: Found) => string,
): readonly StoredRoute[] {
  return [
    {
      name: 'response',
      method: 'GET',
      path: '/responses/:id',
      async handle(request) {
        const found = await requireResponse(getStored(), request);
        if (request.query.get('stream') === 'true')
          throw new GatewayError(
            'unsupported_parameter',
            '"stream" is not supported for a response that is kept: leave it out.',
            { param: 'stream' },
          );
        return showResponse(getStored(), request.account, request.params.id ?? '', describe(found));
      },
    },
    {
      name: 'deletion of a response',
      method: 'DELETE',
      path: '/responses/:id',
      async handle(request) {
        await requireResponse(getStored(), request);
        const id = request.params.id ?? '';
        await getStored().drop(request.account, id);
        return buildJson({ id, object: 'response', deleted: true });
      },
    },
    {
      name: 'input of a response',
      method: 'GET',
      path: '/responses/:id/input_items',
      async handle(request) {
        const found = await requireResponse(getStored(), request);
        const tail = request.params.id?.replace(/^resp_/, '');
        const items = listInput(sliceMember(await found.readRequest(), 'input')).map((text, index) =>
          completeItem(text, `msg_${tail}${index.toString(16).padStart(4, '0')}`),
        );
        return buildPage(
          items.map((item) => (isId(item.id) ? item : { ...item, id: String(item.id) })),
          request.query,
        );
      },
    },
  ];
}
