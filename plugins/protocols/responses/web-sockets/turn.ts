/**
 * One `response.create`: makes the call with the whole conversation as its input, and sends its events as
 * frames. The response is remembered before the client reads its last event, so that the next frame can
 * continue it.
 */
import { randomUUID } from 'node:crypto';
import {
  parseExactly,
  sliceMember,
  splice,
  type ClientCall,
  type Edit,
  type ErrorReply,
  type UpgradedConnection,
} from '../../../../core/index.ts';
import { readList, readMember, readObject, readString } from '../../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../../shared/wire-kit/vendor-bag.ts';
import { joinInput, setText } from '../expansion.ts';
import { isGatewayId } from '../reply-facts.ts';
import { encodeReply } from '../reply-out.ts';
import { encodeErrorFrame, readLane, type Create, type CreateFrame } from './frames.ts';
import type { Items, Memory } from './memory.ts';

export interface TurnContext {
  readonly connection: UpgradedConnection;
  readonly memory: Memory;
  /** Reads the settings of a call as the protocol does. */
  readCall(value: unknown): ClientCall;
  /** Sends a frame. Resolves when the client can take more. */
  send(frame: string): Promise<void> | undefined;
}

/** A call, and what it continues. */
interface Expanded {
  readonly body: string;
  readonly continued: Continued;
}

interface Continued {
  /** The items before those of the frame; undefined if they are not known here. */
  readonly before: readonly Items[] | undefined;
  /** The items of the frame. To take them out of a long text takes time, so it waits for the reply. */
  readOwn(): Items[];
  /** The response that it continues, if that is expanded. */
  readonly previous: string | undefined;
}

const [encoder, decoder] = [new TextEncoder(), new TextDecoder()];

/** Bytes of their own: a part of a longer text would keep all of that alive. */
function storeItems(list: string): Items[] {
  return list.trim() === '' ? [] : [encoder.encode(list)];
}

const frameFields = ['type', 'stream_id', 'generate'];

/** Puts the items of the response that a frame continues before its own. Other ids pass to the pipeline. */
function buildCall({ create, text }: CreateFrame, memory: Memory): Expanded {
  const { previous_response_id: id } = create;
  const before = typeof id === 'string' ? memory.find(id) : undefined;
  const removed = before ? [...frameFields, 'previous_response_id'] : frameFields;
  const edits: Edit[] = removed.map((name) => ({ path: [name], value: undefined }));
  edits.push({ path: ['stream'], value: true });
  const readOwn = (): Items[] => storeItems(joinInput(sliceMember(text, 'input')));
  if (!before) {
    const isWhole = (id === null || id === undefined) && !create.conversation;
    const continued = { before: isWhole ? [] : undefined, readOwn, previous: undefined };
    return { body: splice(text, edits), continued };
  }
  const own = readOwn();
  const list = before.concat(own).map((items) => decoder.decode(items));
  return {
    body: setText(text, 'input', `[${list.join(',')}]`, edits),
    continued: { before, readOwn: () => own, previous: id ?? undefined },
  };
}

/**
 * Whether the state of an item of reasoning is lost: the item does not hold it, and no vendor stores it. The
 * gateway's own items have none.
 */
function isLost(item: unknown): boolean {
  if (!isObject(item) || item.type !== 'reasoning' || item.encrypted_content) return false;
  return !isGatewayId(readString(item.id) ?? '');
}

/**
 * The output as input. OpenAI refuses reasoning that it neither keeps nor has sealed, as `store: false`
 * without `include: ["reasoning.encrypted_content"]` leaves it, and demands it of items that have their ids.
 */
function selectOutput(output: readonly unknown[], store: boolean): readonly unknown[] {
  if (store || !output.some(isLost)) return output;
  return output.flatMap((item) => {
    const { id: _id, ...rest } = readObject(item);
    return isLost(item) ? [] : [rest];
  });
}

/** Events about a whole response or item; their type may be any member. The others are not parsed. */
const whole =
  /"type":\s*"response\.(?:created|queued|in_progress|completed|incomplete|failed|output_item\.done)"/;
/** Events after which a response can be continued. */
const ends: ReadonlySet<unknown> = new Set(['response.completed', 'response.incomplete']);

/** Returns what writes an event of a reply as a frame, and remembers the response. */
function createRelay({ memory }: TurnContext, create: Create, { before, readOwn, previous }: Continued) {
  const output: unknown[] = [];
  const lane = readLane(create);
  function remember({ id, output: listed }: Fields): void {
    if (!before || typeof id !== 'string') return;
    const items = readList(listed).length > 0 ? readList(listed) : output;
    const kept = JSON.stringify(selectOutput(items, create.store !== false));
    memory.remember(id, before.concat(readOwn(), storeItems(kept.slice(1, -1))));
  }
  function read(data: string): string {
    const event = readObject(parseExactly(data));
    if (event.type === 'response.output_item.done') output.push(event.item);
    if (!isObject(event.response)) return data;
    if (ends.has(event.type)) remember(event.response);
    const path = ['response', 'previous_response_id'] as const;
    return previous === undefined ? data : splice(data, [{ path, value: previous }]);
  }
  return (data: string): string => {
    const text = whole.test(data) ? read(data) : data;
    return lane === undefined ? text : splice(text, [{ path: ['stream_id'], value: lane }]);
  };
}

/** Sends everything, then resolves with whether the key is still valid. */
export async function runTurn(
  context: TurnContext,
  frame: CreateFrame,
  signal: AbortSignal,
): Promise<boolean> {
  const { create } = frame;
  const { body, continued } = buildCall(frame, context.memory);
  if (create.generate === false || create.prompt_cache_options?.prewarm === true)
    return prepareResponse(context, create, { body, continued });
  const write = createRelay(context, create, continued);
  const { status, headers, text } = await context.connection.post({
    body,
    signal,
    // The mark that ends a stream of server-sent events is no frame.
    take: (data) => (data.includes('{') ? context.send(write(data)) : undefined),
  }).end;
  if (status !== 200) return refuse(context, create, { status, body: JSON.parse(text), headers });
  return true;
}

async function refuse(
  { send }: TurnContext,
  create: Create,
  reply: ErrorReply & { headers?: Fields },
): Promise<boolean> {
  const body = nameUnknown(create, reply.body);
  await send(encodeErrorFrame({ ...reply, body }, readLane(create)));
  return reply.status !== 401;
}

/** Clients send their whole conversation again when they read this code. */
function nameUnknown(create: Create, body: unknown): unknown {
  const { previous_response_id: id } = create;
  const error = readObject(readMember(body, 'error'));
  if (!id || error.param !== 'previous_response_id' || error.code !== 'unsupported_parameter') return body;
  const message = `This connection has no response "${id.slice(0, 100)}": send all of the conversation.`;
  return { error: { ...error, code: 'previous_response_not_found', message } };
}

/** Answers a frame that asks for no output. The call is checked, not made, so nothing is charged. */
async function prepareResponse(
  context: TurnContext,
  create: Create,
  { body, continued: { before, readOwn, previous } }: Expanded,
): Promise<boolean> {
  const refusal = await context.connection.check(body);
  if (refusal) return refuse(context, create, refusal);
  // Its settings are in the reply, and its input is not.
  const call = context.readCall({ ...create, input: [], previous_response_id: null });
  const created = Math.floor(Date.now() / 1000);
  const usage = { type: 'usage', usage: { input: 0, output: 0 } } as const;
  const reply = readObject(encodeReply([usage], { id: randomUUID(), model: call.model, created, call }));
  const response = { ...reply, previous_response_id: previous ?? null };
  if (before) context.memory.remember(readString(reply.id) ?? '', before.concat(readOwn()));
  const running = { ...response, status: 'in_progress', completed_at: null, usage: null };
  const events = [
    { type: 'response.created', response: running },
    { type: 'response.in_progress', response: running },
    { type: 'response.completed', response },
  ];
  for (const [number, event] of events.entries())
    await context.send(JSON.stringify({ ...event, sequence_number: number, stream_id: readLane(create) }));
  return true;
}
