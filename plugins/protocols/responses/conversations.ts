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
import { conversationState, type Item, type Stored } from './stored.ts';

const mostItems = 20;
const items = z.array(z.looseObject({}), 'an array of items').max(mostItems);
const creation = z.looseObject({ items: items.nullish(), metadata: metadataPairs.nullish() });
const change = z.looseObject({ metadata: metadataPairs });
const addition = z.looseObject({ items: items.min(1) });

function getId({ params }: StoredRequest): string {
  return params.id ?? '';
}

class Conversations {
  readonly #getStored: () => Stored;
  readonly #check: (input: unknown) => void;

  constructor(getStored: () => Stored, check: (input: unknown) => void) {
    this.#getStored = getStored;
    this.#check = check;
  }

  async create(request: StoredRequest): Promise<RouteReply> {
    const { metadata } = checkWire(creation, request.body ?? {});
    const added = this.#readItems(request);
    const id = `conv_${randomUUID().replaceAll('-', '')}`;
    const created = Math.floor(Date.now() / 1000);
    const made = { id, object: 'conversation', created_at: created, metadata: metadata ?? {} };
    const { account, key } = request;
    const reply = JSON.stringify(made);
    const entry = { account, key, id, state: conversationState, bytes: reply.length, request: '', reply };
    await this.#getStored().begin(entry);
    await this.#getStored().addItems(account, id, added);
    return buildJson(made);
  }

  async show(request: StoredRequest): Promise<RouteReply> {
    return buildJson(await this.#require(request));
  }

  async update(request: StoredRequest): Promise<RouteReply> {
    const { metadata } = checkWire(change, request.body);
    const changed = { ...(await this.#require(request)), metadata };
    await this.#getStored().describe(request.account, getId(request), JSON.stringify(changed));
    return buildJson(changed);
  }

  async drop(request: StoredRequest): Promise<RouteReply> {
    const { id } = await this.#require(request);
    await this.#getStored().drop(request.account, getId(request));
    return buildJson({ id, object: 'conversation.deleted', deleted: true });
  }

  async addItems(request: StoredRequest): Promise<RouteReply> {
    checkWire(addition, request.body);
    const added = this.#readItems(request);
    await this.#require(request);
    if (!(await this.#getStored().addItems(request.account, getId(request), added)))
      throw new GatewayError('invalid_request', 'The conversation is full: start another one.');
    return buildPage(added, new URLSearchParams({ order: 'asc', limit: '100' }));
  }

  async listItems(request: StoredRequest): Promise<RouteReply> {
    return buildPage(await this.#list(request), request.query);
  }

  async showItem(request: StoredRequest): Promise<RouteReply> {
    return buildJson(completeItem(await this.#find(request)));
  }

  async dropItem(request: StoredRequest): Promise<RouteReply> {
    const { id } = await this.#find(request);
    await this.#getStored().dropItem(request.account, getId(request), id);
    return this.show(request);
  }

  async #require(request: StoredRequest): Promise<Fields> {
    const found = await this.#getStored().find(request.account, getId(request));
    if (found?.state === conversationState) return readObject(JSON.parse(found.reply));
    throw buildNotFound('Conversation', getId(request));
  }

  async #list(request: StoredRequest): Promise<readonly Item[]> {
    await this.#require(request);
    return this.#getStored().listItems(request.account, getId(request));
  }

  async #find(request: StoredRequest): Promise<Item> {
    const { item } = request.params;
    const found = (await this.#list(request)).find(({ id }) => id === item);
    if (found) return found;
    throw buildNotFound('Item', item);
  }

  #readItems({ body, text }: StoredRequest): Item[] {
    const given = readObject(body).items;
    this.#check(given);
    return Array.isArray(given) ? nameItems(sliceItems(sliceMember(text, 'items') ?? '[]')) : [];
  }
}

/** `check` reads items as a call's input. */
export function listConversationRoutes(
  getStored: () => Stored,
  check: (input: unknown) => void,
): readonly StoredRoute[] {
  const kept = new Conversations(getStored, check);
  const rows = [
    ['new conversation', 'POST', '', (request) => kept.create(request)],
    ['conversation', 'GET', '/:id', (request) => kept.show(request)],
    ['change of a conversation', 'POST', '/:id', (request) => kept.update(request)],
    ['deletion of a conversation', 'DELETE', '/:id', (request) => kept.drop(request)],
    ['new items of a conversation', 'POST', '/:id/items', (request) => kept.addItems(request)],
    ['items of a conversation', 'GET', '/:id/items', (request) => kept.listItems(request)],
    ['item of a conversation', 'GET', '/:id/items/:item', (request) => kept.showItem(request)],
    ['deletion from a conversation', 'DELETE', '/:id/items/:item', (request) => kept.dropItem(request)],
  ] satisfies [string, StoredRoute['method'], string, StoredRoute['handle']][];
  return rows.map(([name, method, path, handle]) => ({
    name,
    method,
    path: `/conversations${path}`,
    handle,
  }));
}
