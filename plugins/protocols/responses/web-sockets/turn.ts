/**
 * One `response.create`: makes the call with the whole conversation as its input, and sends its events as
 * frames. The response is remembered before the client reads its last event, so that the next frame can
 * continue it.
 */
import { randomUUID } from 'node:crypto';
import {
  parseExactly,
  splice,
  type ClientCall,
  type Edit,
  type ErrorReply,
  type UpgradedConnection,
} from '../../../../core/index.ts';
import { readList, readMember, readObject, readString } from '../../../shared/wire-kit/values.ts';
import { isObject, type Fields } from '../../../shared/wire-kit/vendor-bag.ts';
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

/** The body of a call, and what it continues. */
interface Expanded {
  readonly body: readonly Buffer[];
  /** The items before those of the frame; undefined if they are not known here. */
  readonly before: readonly Items[] | undefined;
  /** The items of the frame. To take them out of a long text takes time, so it waits for the reply. */
  readOwn(): Items[];
  /** The response that it continues, if that is expanded. */
  readonly previous: string | undefined;
}

/** A copy of its own: a part of Node's pool, or of a longer text, would keep all of that alive. */
function storeItems(text: string): Items[] {
  if (text.trim() === '') return [];
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return [bytes];
}

/** Takes the items of a frame out of its text, as they are written: to write them again takes longer. */
function readInput({ create, text }: CreateFrame): Items[] {
  const { input } = create;
  if (typeof input === 'string')
    return storeItems(JSON.stringify({ type: 'message', role: 'user', content: input }));
  const others = Object.keys(create).filter((name) => name !== 'input');
  const list = input ? splice(text, removeFields(others)) : '';
  return storeItems(list.slice(list.indexOf('[') + 1, list.lastIndexOf(']')));
}

function removeFields(names: readonly string[]): Edit[] {
  return names.map((name) => ({ path: [name], value: undefined }));
}

const frameFields = ['type', 'stream_id', 'generate'];

/** Puts the items of the response that a frame continues before its own. Other ids pass to the pipeline. */
function buildCall(frame: CreateFrame, memory: Memory): Expanded {
  const { create, text } = frame;
  const { previous_response_id: id } = create;
  const before = typeof id === 'string' ? memory.find(id) : undefined;
  const edits: Edit[] = [...removeFields(frameFields), { path: ['stream'], value: true }];
  if (!before) {
    const isWhole = (id === null || id === undefined) && !create.conversation;
    return {
      body: [Buffer.from(splice(text, edits))],
      before: isWhole ? [] : undefined,
      readOwn: () => readInput(frame),
      previous: undefined,
    };
  }
  const rest = splice(text, [...edits, ...removeFields(['previous_response_id', 'input'])]);
  const own = readInput(frame);
  const list = before.concat(own).flatMap((each, index) => (index === 0 ? [each] : [Buffer.from(','), each]));
  const tail = Buffer.from(`],${rest.slice(rest.indexOf('{') + 1)}`);
  return {
    body: [Buffer.from('{"input":['), ...list, tail],
    before,
    readOwn: () => own,
    previous: id ?? undefined,
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

/** Reads the events of one reply, and writes each as a frame. */
class Relay {
  readonly #memory: Memory;
  readonly #create: Create;
  readonly #call: Expanded;
  #output: unknown[] = [];

  constructor({ memory }: TurnContext, create: Create, call: Expanded) {
    this.#memory = memory;
    this.#create = create;
    this.#call = call;
  }

  /** Returns the frame of an event; undefined for the mark that ends a stream of server-sent events. */
  write(data: string): string | undefined {
    if (!data.includes('{')) return undefined;
    const text = whole.test(data) ? this.#read(data) : data;
    const lane = readLane(this.#create);
    return lane === undefined ? text : splice(text, [{ path: ['stream_id'], value: lane }]);
  }

  #read(data: string): string {
    const event = readObject(parseExactly(data));
    if (event.type === 'response.output_item.done') this.#output.push(event.item);
    if (!isObject(event.response)) return data;
    if (ends.has(event.type)) this.#remember(event.response);
    const { previous: value } = this.#call;
    return value === undefined ? data : splice(data, [{ path: ['response', 'previous_response_id'], value }]);
  }

  #remember({ id, output }: Fields): void {
    const { before, readOwn } = this.#call;
    if (!before || typeof id !== 'string') return;
    const listed = readList(output);
    const kept = selectOutput(listed.length > 0 ? listed : this.#output, this.#create.store !== false);
    this.#memory.remember(id, before.concat(readOwn(), storeItems(JSON.stringify(kept).slice(1, -1))));
  }
}

/** Sends everything, then resolves with whether the key is still valid. */
export async function runTurn(
  context: TurnContext,
  frame: CreateFrame,
  signal: AbortSignal,
): Promise<boolean> {
  const { create } = frame;
  const expanded = buildCall(frame, context.memory);
  if (create.generate === false || create.prompt_cache_options?.prewarm === true)
    return prepareResponse(context, frame, expanded);
  const relay = new Relay(context, create, expanded);
  const { status, headers, text } = await context.connection.post({
    body: expanded.body,
    signal,
    take(data) {
      const sent = relay.write(data);
      return sent === undefined ? undefined : context.send(sent);
    },
  }).end;
  if (status !== 200) return refuse(context, create, { status, body: parseReply(text), headers });
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

function parseReply(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return { error: { type: 'server_error', code: 'internal_error', param: null, message: 'It failed.' } };
  }
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
  { create }: CreateFrame,
  { body, before, readOwn, previous }: Expanded,
): Promise<boolean> {
  const refusal = await context.connection.check(Buffer.concat(body).toString());
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
