/**
 * Conversations that clients create, read and change item by item. A call that names one reads its items and
 * adds its own.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { GatewayError, sliceItems, sliceMember, type RouteReply } from '../../../core/index.ts';
import { metadataPairs } from '../../shared/openai/settings.ts';
import { readObject } from '../../shared/wire-kit/values.ts';
import type { Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { checkWire } from '../../shared/wire-kit/wire-check.ts';
import { nameItems } from './keeper.ts';
import {
  buildJson,
  buildNotFound,
  buildPage,
  completeItem,
  type StoredRequest,
  type StoredRoute,
} from './stored-routes.ts';
import { conversationState, type Item } from './stored.ts';

const mostItems = 20;
const items = z.array(z.looseObject({}), 'an array of items').max(mostItems);
const creation = z.looseObject({ items: items.nullish(), metadata: metadataPairs.nullish() });
const change = z.looseObject({ metadata: metadataPairs });
const addition = z.looseObject({ items: items.min(1) });

async function requireConversation({ stored, account, id }: StoredRequest): Promise<Fields> {
  const found = await stored.find(account, id);
  if (found?.state === conversationState) return readObject(JSON.parse(found.reply));
  throw buildNotFound('Conversation', id);
}

async function listKept(request: StoredRequest): Promise<readonly Item[]> {
  await requireConversation(request);
  return request.stored.listItems(request.account, request.id);
}

async function requireItem(request: StoredRequest): Promise<Item> {
  const { item } = request.params;
  const found = (await listKept(request)).find(({ id }) => id === item);
  if (found) return found;
  throw buildNotFound('Item', item);
}

function readItems({ body, text, check }: StoredRequest): Item[] {
  const given = readObject(body).items;
  check(given);
  return Array.isArray(given) ? nameItems(sliceItems(sliceMember(text, 'items') ?? '[]')) : [];
}

async function create(request: StoredRequest): Promise<RouteReply> {
  const { account, key, stored } = request;
  const { metadata } = checkWire(creation, request.body ?? {});
  const added = readItems(request);
  const id = `conv_${randomUUID().replaceAll('-', '')}`;
  const created = Math.floor(Date.now() / 1000);
  const made = { id, object: 'conversation', created_at: created, metadata: metadata ?? {} };
  const reply = JSON.stringify(made);
  await stored.begin({ account, key, id, state: conversationState, bytes: reply.length, request: '', reply });
  await stored.addItems(account, id, added);
  return buildJson(made);
}

async function show(request: StoredRequest): Promise<RouteReply> {
  return buildJson(await requireConversation(request));
}

async function update(request: StoredRequest): Promise<RouteReply> {
  const { metadata } = checkWire(change, request.body);
  const changed = { ...(await requireConversation(request)), metadata };
  await request.stored.describe(request.account, request.id, JSON.stringify(changed));
  return buildJson(changed);
}

async function drop(request: StoredRequest): Promise<RouteReply> {
  const { id } = await requireConversation(request);
  await request.stored.drop(request.account, request.id);
  return buildJson({ id, object: 'conversation.deleted', deleted: true });
}

async function addItems(request: StoredRequest): Promise<RouteReply> {
  checkWire(addition, request.body);
  const added = readItems(request);
  await requireConversation(request);
  if (!(await request.stored.addItems(request.account, request.id, added)))
    throw new GatewayError('invalid_request', 'The conversation is full: start another one.');
  return buildPage(added, new URLSearchParams({ order: 'asc', limit: '100' }));
}

async function dropItem(request: StoredRequest): Promise<RouteReply> {
  const { id } = await requireItem(request);
  await request.stored.dropItem(request.account, request.id, id);
  return show(request);
}

const path = '/conversations';

export const conversationRoutes: readonly StoredRoute[] = [
  ['new conversation', 'POST', path, create],
  ['conversation', 'GET', `${path}/:id`, show],
  ['change of a conversation', 'POST', `${path}/:id`, update],
  ['deletion of a conversation', 'DELETE', `${path}/:id`, drop],
  ['new items of a conversation', 'POST', `${path}/:id/items`, addItems],
  [
    'items of a conversation',
    'GET',
    `${path}/:id/items`,
    async (request) => buildPage(await listKept(request), request.query),
  ],
  [
    'item of a conversation',
    'GET',
    `${path}/:id/items/:item`,
    async (request) => buildJson(completeItem(await requireItem(request))),
  ],
  ['deletion from a conversation', 'DELETE', `${path}/:id/items/:item`, dropItem],
];
