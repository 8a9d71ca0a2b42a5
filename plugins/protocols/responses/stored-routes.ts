/** Serves what is kept: responses, what they were asked, and their deletion. */
import { z } from 'zod';
import {
  GatewayError,
  sliceMember,
  splice,
  type Edit,
  type Host,
  type Principal,
  type Route,
  type RouteReply,
  type RouteRequest,
} from '../../../core/index.ts';
import { errorSchema } from '../../shared/wire-kit/reply-schemas.ts';
import { readObject } from '../../shared/wire-kit/values.ts';
import { buildFieldError } from '../../shared/wire-kit/wire-check.ts';
import { describeRecord, type Background } from './background.ts';
import { listInput, setText } from './expansion.ts';
import { makeItemId } from './reply-facts.ts';
import { conversationState, type Found, type Item, type Stored } from './stored.ts';

const anyJson = { 'application/json': z.looseObject({ object: z.string().optional() }) };

/** Some base URLs have no version. */
const bases = ['/v1', ''];

export interface StoredRequest extends RouteRequest {
  readonly account: string;
  readonly key: string;
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
        operation: 'stored',
        encodeError,
        describe:
          base !== '' && (async () => ({ summary: name, replies: { 200: anyJson }, error: errorSchema })),
        handle: (request, { account, key }: Principal) => handle({ ...request, account, key }),
      });
}

/** The body is JSON text, or becomes it. */
export function buildJson(body: unknown): RouteReply {
  return { status: 200, headers: { 'cache-control': 'no-store', 'content-type': 'application/json' }, body };
}

export function buildNotFound(kind: string, id: string | undefined): GatewayError {
  return new GatewayError('not_found', `${kind} with id '${id?.slice(0, 100)}' not found.`);
}

/** An item with the fields that clients need to find it and to read it. The rest stays as it is written. */
export function completeItem({ id, text }: Item): string {
  const { type = 'message', role, status = 'completed', content } = readObject(JSON.parse(text));
  const edits: Edit[] = [
    { path: ['id'], value: id },
    { path: ['type'], value: type },
  ];
  if (type === 'message') edits.push({ path: ['status'], value: status });
  if (type === 'message' && typeof content === 'string') {
    const part = role === 'assistant' ? { type: 'output_text', annotations: [] } : { type: 'input_text' };
    edits.push({ path: ['content'], value: [{ ...part, text: content }] });
  }
  return splice(text, edits);
}

const [usual, most] = [20, 100];

/** A page of a list, as `after`, `limit` and `order` ask. The newest comes first unless stated otherwise. */
export function buildPage(all: readonly Item[], query: URLSearchParams): RouteReply {
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
  const page = sorted.slice(from, from + limit);
  const [first_id, last_id] = [page[0]?.id ?? null, page.at(-1)?.id ?? null];
  const list = { object: 'list', data: [], first_id, last_id, has_more: from + limit < sorted.length };
  return buildJson(setText(JSON.stringify(list), 'data', `[${page.map(completeItem).join(',')}]`));
}

export async function requireResponse(stored: Stored, { account, params }: StoredRequest): Promise<Found> {
  const found = await stored.find(account, params.id);
  if (!found || found.state === conversationState) throw buildNotFound('Response', params.id);
  return found;
}

async function listOwnInput(stored: Stored, request: StoredRequest): Promise<RouteReply> {
  const found = await requireResponse(stored, request);
  const tail = (request.params.id ?? '').replace(/^resp_/, '');
  const texts = listInput(sliceMember(await found.readRequest(), 'input'));
  const items = texts.map((text, index) => {
    const type: unknown = JSON.parse(sliceMember(text, 'type') ?? '"message"');
    return { id: makeItemId(type, tail, index), text };
  });
  return buildPage(items, request.query);
}

export function listResponseRoutes(
  getStored: () => Stored,
  getBackground: () => Background,
): readonly StoredRoute[] {
  const show = async (request: StoredRequest): Promise<RouteReply> => {
    const reply = describeRecord(await requireResponse(getStored(), request));
    const output = await getStored().listItems(request.account, request.params.id ?? '');
    return buildJson(setText(reply, 'output', `[${output.map(({ text }) => text).join(',')}]`));
  };
  const drop = async (request: StoredRequest): Promise<RouteReply> => {
    await requireResponse(getStored(), request);
    const { account, params } = request;
    const id = params.id ?? '';
    await getStored().drop(account, id);
    getBackground().stop(account, id);
    return buildJson({ id, object: 'response', deleted: true });
  };
  const cancel = async (request: StoredRequest): Promise<RouteReply> => {
    const { account, params } = request;
    await getBackground().cancel(account, params.id ?? '', await requireResponse(getStored(), request));
    return show(request);
  };
  const path = '/responses/:id';
  return [
    { name: 'kept response', method: 'GET', path, handle: (request) => show(refuseStream(request)) },
    { name: 'deletion of a kept response', method: 'DELETE', path, handle: drop },
    { name: 'cancellation of a kept response', method: 'POST', path: `${path}/cancel`, handle: cancel },
    {
      name: 'input of a kept response',
      method: 'GET',
      path: `${path}/input_items`,
      handle: (request) => listOwnInput(getStored(), request),
    },
  ];
}

function refuseStream(request: StoredRequest): StoredRequest {
  if (request.query.get('stream') !== 'true') return request;
  throw new GatewayError(
    'unsupported_parameter',
    '"stream" is not supported for a kept response: leave it out, and poll.',
    { param: 'stream' },
  );
}
