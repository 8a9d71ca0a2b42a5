/** Serves what is kept: responses, what they were asked, and their deletion. */
import { Readable } from 'node:stream';
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
import { describeRecord, streamHeaders, type Background } from './background.ts';
import { bases } from './encoding.ts';
import { listInput, setOutput, setText } from './expansion.ts';
import { makeItemId } from './reply-facts.ts';
import { conversationState, type Found, type Item, type Stored } from './stored.ts';

const anyJson = { 'application/json': z.looseObject({ object: z.string().optional() }) };

export interface Kept {
  readonly stored: Stored;
  readonly background: Background;
  /** Throws `invalid_request` if a conversation cannot hold these items. */
  check(items: unknown): void;
}

export interface StoredRequest extends RouteRequest, Kept {
  readonly account: string;
  readonly key: string;
  /** The id in the path. */
  readonly id: string;
}

export type StoredRoute = readonly [
  name: string,
  method: Route['method'],
  path: string,
  handle: (request: StoredRequest) => Promise<RouteReply>,
];

/** The routes at each base, for user keys. */
export function addRoutes(
  { routes }: Pick<Host, 'routes'>,
  list: readonly StoredRoute[],
  encodeError: Route['encodeError'],
  getKept: () => Kept,
): void {
  for (const base of bases)
    for (const [name, method, path, handle] of list)
      routes.add({
        name: `${name} at ${base}/`,
        method,
        path: base + path,
        access: 'user',
        operation: 'stored',
        encodeError,
        describe:
          base !== '' && (async () => ({ summary: name, replies: { 200: anyJson }, error: errorSchema })),
        handle: async (request, { account, key }: Principal) =>
          handle({ ...request, ...getKept(), account, key, id: request.params.id ?? '' }),
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

async function requireResponse({ stored, account, id }: StoredRequest): Promise<Found> {
  const found = await stored.find(account, id);
  if (!found || found.state === conversationState) throw buildNotFound('Response', id);
  return found;
}

async function listOwnInput(request: StoredRequest): Promise<RouteReply> {
  const found = await requireResponse(request);
  const tail = request.id.replace(/^resp_/, '');
  const texts = listInput(sliceMember(await found.readRequest(), 'input'));
  const items = texts.map((text, index) => {
    const type: unknown = JSON.parse(sliceMember(text, 'type') ?? '"message"');
    return { id: makeItemId(type, tail, index), text };
  });
  return buildPage(items, request.query);
}

function followEvents({ account, id, query, background }: StoredRequest): RouteReply {
  const after = query.get('starting_after');
  if (after !== null && !/^\d{1,15}$/.test(after))
    throw buildFieldError('starting_after', 'is no number of an event', 'the last "sequence_number"');
  const events = background.follow(account, id, after === null ? -1 : Number(after));
  return { status: 200, headers: streamHeaders, body: Readable.from(events) };
}

async function show(request: StoredRequest): Promise<RouteReply> {
  const reply = describeRecord(await requireResponse(request));
  if (request.query.get('stream') === 'true') return followEvents(request);
  return buildJson(setOutput(reply, await request.stored.listItems(request.account, request.id)));
}

async function drop(request: StoredRequest): Promise<RouteReply> {
  await requireResponse(request);
  const { account, id, stored, background } = request;
  await stored.drop(account, id);
  background.stop(account, id);
  return buildJson({ id, object: 'response', deleted: true });
}

async function cancel(request: StoredRequest): Promise<RouteReply> {
  const { account, id, background } = request;
  await background.cancel(account, id, await requireResponse(request));
  return show(request);
}

const path = '/responses/:id';

export const responseRoutes: readonly StoredRoute[] = [
  ['kept response', 'GET', path, show],
  ['deletion of a kept response', 'DELETE', path, drop],
  ['cancellation of a kept response', 'POST', `${path}/cancel`, cancel],
  ['input of a kept response', 'GET', `${path}/input_items`, listOwnInput],
];
