/**
 * Completes a request that refers to what the gateway keeps: an earlier response, a conversation, single
 * items. It works on JSON texts, so that what was kept reaches the provider as it was written, to the last
 * digit. Instructions are not inherited.
 */
import {
  GatewayError,
  parseJson,
  sliceItems,
  sliceMember,
  splice,
  takeTurn,
  type ClientSide,
  type Edit,
  type Operation,
  type ReadBody,
} from '../../../core/index.ts';
import { readList, readObject } from '../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { buildFieldError } from '../../shared/wire-kit/wire-check.ts';
import { conversationState, isId, runningStates, type Item, type Stored } from './stored.ts';
import type * as Wire from './wire.ts';

/** Characters of all items. One that is referred to often is in memory once, until they are joined. */
const longest = 32 * 1024 * 1024;

/** What a request referred to before it was completed. */
export interface Expansion {
  readonly previous?: string;
  readonly conversation?: string;
  /** How many items of the input precede the request's own. */
  readonly context: number;
}

/** By the value of the completed body, until its call is read. */
const expansions = new WeakMap<object, Expansion>();

export function findExpansion(body: unknown): Expansion | undefined {
  return isObject(body) ? expansions.get(body) : undefined;
}

export function isReference(item: unknown): item is Fields {
  if (!isObject(item)) return false;
  const { type, role, id } = item;
  return type === 'item_reference' || ((type ?? role ?? undefined) === undefined && id !== undefined);
}

/** The items of an input as they are written, without the brackets. A plain text is what the user says. */
export function joinInput(input = 'null'): string {
  if (input.startsWith('[')) return input.slice(1, -1);
  return input === 'null' ? '' : `{"type":"message","role":"user","content":${input}}`;
}

export function listInput(input: string | undefined): string[] {
  return sliceItems(`[${joinInput(input)}]`);
}

/** Replaces a member by JSON text that is not read. */
export function setText(json: string, name: string, text: string, edits: readonly Edit[] = []): string {
  const place = crypto.randomUUID();
  const [before = '', after = ''] = splice(json, [...edits, { path: [name], value: place }]).split(
    `"${place}"`,
  );
  return before + text + after;
}

/** A record with the items that are kept beside it. */
export function setOutput(record: string, output: readonly Item[]): string {
  return setText(record, 'output', `[${output.map(({ text }) => text).join(',')}]`);
}

/** The items of a response's output, with their ids. */
export function listOutput(reply: string): Item[] {
  return sliceItems(sliceMember(reply, 'output') ?? '[]').map((text) => {
    const id: unknown = readObject(JSON.parse(text)).id;
    return { id: isId(id) ? id : '', text };
  });
}

export function buildMissingError(what: string, param: string): GatewayError {
  return new GatewayError(
    'reference_not_found',
    `${what} is not kept: it was never stored, it has expired, or it belongs to another account. ` +
      'Send the entire conversation as "input".',
    { param },
  );
}

/**
 * Builds the error for a reference to an earlier response. The AI SDK makes one in the second turn of every
 * conversation, unless it is set up otherwise.
 */
export function buildReferenceError(field: string, instead: string): GatewayError {
  return new GatewayError(
    'unsupported_parameter',
    `"${field}" refers to a stored response, and the gateway stores none: ${instead}. In an SDK, set ` +
      '"store: false", or use the chat completions model: .chat(model) in the AI SDK.',
    { param: field },
  );
}

/** Refuses fields about state that the gateway does not keep. */
export function checkState(wire: Wire.Request, operation: Operation, keeps: boolean): void {
  for (const field of ['previous_response_id', 'conversation'] as const)
    if (!keeps && wire[field])
      throw buildReferenceError(field, 'leave it out, and send the entire conversation as "input"');
  if (wire.prompt) refuse('prompt', 'needs stored prompts, and the gateway stores none: leave it out');
  if (!wire.background || operation !== 'generate') return;
  if (!keeps) refuse('background', 'needs stored responses, and the gateway stores none: leave it out');
  if (wire.store === false)
    throw buildFieldError('store', 'is false, and a background response is read from the store', 'true');
}

function refuse(param: string, problem: string): never {
  throw new GatewayError('unsupported_parameter', `"${param}" ${problem}.`, { param });
}

/** The id of a conversation, which is given alone or in an object. */
export function readConversation(value: unknown): unknown {
  return isObject(value) ? value.id : value;
}

/** What came before: the input and the output of an earlier response, or the items of a conversation. */
async function listContext(stored: Stored, account: string, body: Fields): Promise<string[]> {
  const { previous_response_id: previous, conversation } = body;
  if (previous && conversation)
    throw buildFieldError('conversation', 'excludes "previous_response_id"', 'one of them');
  const param = previous ? 'previous_response_id' : 'conversation';
  const id = previous || readConversation(conversation);
  if (!id) return [];
  if (typeof id !== 'string') throw buildFieldError(param, 'is no id', 'the id of one that was created');
  const [found, items] = await Promise.all([
    stored.find(account, id),
    isId(id) ? stored.listItems(account, id) : [],
  ]);
  if (!found || (found.state === conversationState) === Boolean(previous))
    throw buildMissingError(`"${id}"`, param);
  if (previous && (runningStates.has(found.state) || found.state === 'failed' || found.state === 'cancelled'))
    throw buildFieldError(param, `names a response that is "${found.state}"`, 'one that is complete');
  const before = previous ? listInput(sliceMember(await found.readRequest(), 'input')) : [];
  return [...before, ...items.map(({ text }) => text)];
}

/** The request's own items, with what they refer to. */
async function resolveItems(stored: Stored, account: string, { text, value }: ReadBody): Promise<string[]> {
  const written = listInput(sliceMember(text, 'input'));
  const items = readList(readObject(value).input);
  const wanted = items.flatMap((item) => (isReference(item) ? [String(item.id)] : []));
  if (wanted.length === 0) return written;
  const kept = await stored.findItems(account, wanted);
  return written.map((own, index) => {
    const item = items[index];
    if (!isReference(item)) return own;
    const found = kept.get(String(item.id));
    if (found === undefined) throw buildMissingError(`The item "${String(item.id)}"`, `input[${index}].id`);
    return found;
  });
}

/** `check` reads the request's own items, so that an error names their places and not those they get. */
export function createExpander(
  getStored: () => Stored,
  check: (input: unknown) => void,
): NonNullable<ClientSide['expand']> {
  const expand = async (body: ReadBody, account: string): Promise<ReadBody> => {
    const fields = readObject(body.value);
    const { previous_response_id: previous, conversation } = fields;
    check(fields.input);
    const stored = getStored();
    const [context, own] = await Promise.all([
      listContext(stored, account, fields),
      resolveItems(stored, account, body),
    ]);
    const items = [...context, ...own];
    const length = items.reduce((sum, item) => sum + item.length, 0);
    if (length > longest)
      throw new GatewayError('body_too_large', 'The conversation is longer than the gateway accepts.');
    // To take a long conversation apart holds the event loop about as long as to read all of it.
    await takeTurn(length);
    const whole = parseJson(Buffer.from(setText(body.text, 'input', `[${items.join(',')}]`)));
    if (isObject(whole.value))
      expansions.set(whole.value, {
        context: context.length,
        ...(previous ? { previous: String(previous) } : {}),
        ...(conversation ? { conversation: String(readConversation(conversation)) } : {}),
      });
    return { ...whole, ownText: body.text };
  };
  return (body, { account }) => {
    const { previous_response_id: previous, conversation, input } = readObject(body.value);
    return previous || conversation || readList(input).some(isReference) ? expand(body, account) : undefined;
  };
}
