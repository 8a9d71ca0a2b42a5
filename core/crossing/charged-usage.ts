/**
 * Shows the client what it is charged for. If a provider reports no usage, or figures that cannot be true,
 * the call is charged by other figures, and these replace the provider's in the reply. The verbatim lane
 * changes only the counts of the usage, or adds the usage that is missing.
 */
import { findChargedFigures } from '../billing/charge.ts';
import type { CanonicalEvent } from '../canonical/events.ts';
import { type Usage, nameCounts } from '../canonical/usage.ts';
import type { Progress, Routed } from '../exchange.ts';
import { costHeader } from '../http/request-headers.ts';
import type { ClientSide, Edit, Protocol, ReplyContext, WireEvent } from '../protocol.ts';
import type { Tally } from '../tally.ts';
import { isObject, skipSpace } from '../util/json-text.ts';
import { type Nano, formatUsd } from '../util/money.ts';
import { skipValue, splice } from './splice.ts';
import { type SseBlock, SseReader, writeFrame } from './sse.ts';

export function buildReplyContext(
  { id, receivedAt, call, attempt }: Routed,
  tally?: Pick<Tally, 'noteLoss'>,
): ReplyContext {
  const { model } = attempt.target;
  return {
    id,
    model: model.id,
    created: Math.floor(receivedAt / 1000),
    readClock: () => Math.floor(Date.now() / 1000),
    call,
    ...(tally && { reportLoss: (kind, reason) => tally.noteLoss(kind, reason) }),
    capabilities: model.capabilities,
  };
}

/**
 * The figures that a reply is charged for once it is complete; undefined if they are those that the provider
 * reported. Figures that are not part of them are undefined in it.
 */
export function findChargedUsage(exchange: Routed, tally: Progress): Usage | undefined {
  const { usage: reported, complete, images, imagesShown } = tally;
  // A spread leaves out the getters of the class.
  const whole = complete ? tally : { ...tally, images, imagesShown, complete: true };
  const { uses, basis, suspect } = findChargedFigures(exchange, whole);
  if (basis === 'usage' && !suspect) return undefined;
  const { images: _images, ...charged } = nameCounts(uses);
  const blank = Object.fromEntries(Object.keys(reported).map((name) => [name, undefined]));
  const shown: Usage = { ...blank, ...charged };
  const names = Object.keys(shown).filter(isCount);
  return names.some((name) => shown[name] !== reported[name]) ? shown : undefined;
}

function isCount(name: string): name is Exclude<keyof Usage, 'mode' | 'images'> {
  return name !== 'mode' && name !== 'images';
}

/** The events of a reply whose only content is its usage. */
function buildEvents(usage: Usage): readonly CanonicalEvent[] {
  return [
    { type: 'response-start' },
    { type: 'finish', candidate: 0, reason: { unified: 'stop', raw: 'stop' } },
    { type: 'usage', usage },
    { type: 'response-end' },
  ];
}

/** Writes figures in the client's protocol, as the members of its usage object. */
function encodeUsage(
  { client }: Protocol,
  context: ReplyContext,
  usage: Usage,
): Readonly<Record<string, unknown>> {
  const reply = client.encodeReply(buildEvents(usage), context);
  return readObjectAt(reply, getUsagePath(client).reply) ?? {};
}

function setUsage(json: string, path: Edit['path'], encoded: Readonly<Record<string, unknown>>): string {
  const stated = readObjectAt(JSON.parse(json), path);
  if (!stated) return splice(json, [{ path, value: encoded }]);
  const edits = Object.entries(encoded).flatMap(([name, value]): Edit[] => {
    // Texts say how the call was served, and not how much it used.
    if (typeof value === 'string' || isSame(value, stated[name])) return [];
    const isStale = typeof stated[name] === 'number' || typeof stated[name] === 'object';
    return isStale || (value !== undefined && value !== null) ? [{ path: [...path, name], value }] : [];
  });
  return splice(json, edits);
}

function isSame(first: unknown, second: unknown): boolean {
  return JSON.stringify(first ?? null) === JSON.stringify(second ?? null);
}

/** A JSON reply in the provider's own text, with the figures it is charged for. */
export function correctUsage(text: string, exchange: Routed, tally: Progress): string {
  const usage = findChargedUsage(exchange, tally);
  if (!usage) return text;
  const { protocol } = exchange;
  const encoded = encodeUsage(protocol, buildReplyContext(exchange), usage);
  return setUsage(text, getUsagePath(protocol.client).reply, encoded);
}

/** Returns a block of a stream unchanged or edited. */
export type BlockWriter = (raw: string, data: string | undefined) => string;

type StreamTally = Progress & Pick<Tally, 'hasFinished'>;

/** Corrects the usage in the events of one stream that passes in the provider's own text. */
export class StreamCorrection {
  readonly #exchange: Routed;
  readonly #tally: StreamTally;
  readonly #path: Edit['path'];
  /** The data of the first event, whose id and time an added event repeats. */
  #first: string | undefined;
  /** The figures that the client was sent last in place of the provider's, as text. */
  #sent = '';

  constructor(exchange: Routed, tally: StreamTally) {
    this.#exchange = exchange;
    this.#tally = tally;
    this.#path = getUsagePath(exchange.protocol.client).event;
  }

  /** Writes a block with the right figures. `events` are what was decoded from it. */
  writeBlock(raw: string, wire: WireEvent, events: readonly CanonicalEvent[], write: BlockWriter): string {
    const { data } = wire;
    this.#first ??= data;
    const { candidates } = this.#exchange.call;
    if (!this.#tally.hasFinished(candidates) || !this.#holdsUsage(wire, events)) return write(raw, data);
    const usage = findChargedUsage(this.#exchange, this.#tally);
    if (!usage || !data.startsWith('{')) return write(raw, data);
    const corrected = this.#set(data, usage);
    return write(replaceData(raw, data, corrected, wire.event), corrected);
  }

  /** The end of a stream in array or silence: its last event gets the figures, if none was sent with them. */
  correctLast(text: string): string {
    const usage = this.#findUnsent();
    if (!usage) return text;
    const { protocol, call } = this.#exchange;
    return editLastEvent(text, { call, protocol }, (data) => this.#set(data, usage), true);
  }

  /** An event of its own for the figures, if the client asked for usage and was sent none. */
  writeMissing(): string {
    const { call, protocol } = this.#exchange;
    const usage = call.usageWanted ? this.#findUnsent() : undefined;
    if (!usage) return '';
    const encoder = protocol.client.encodeEvents(buildReplyContext(this.#exchange));
    const frames = buildEvents(usage).map((event) => encoder.push(event));
    const blocks = splitFrames(frames.join(''));
    const event = blocks.find((block) => block.event && hasObject(block.event.data, this.#path))?.event;
    return event ? writeFrame(this.#copyHead(event.data), event.event) : '';
  }

  #findUnsent(): Usage | undefined {
    const usage = findChargedUsage(this.#exchange, this.#tally);
    return usage && JSON.stringify(usage) !== this.#sent ? usage : undefined;
  }

  #set(data: string, usage: Usage): string {
    this.#sent = JSON.stringify(usage);
    const { protocol } = this.#exchange;
    return setUsage(data, this.#path, encodeUsage(protocol, buildReplyContext(this.#exchange), usage));
  }

  /**
   * Whether usage belongs in an event: it has some, or it ends a stream whose events are named. Without
   * names, usage has an event of its own, which may follow.
   */
  #holdsUsage({ event }: WireEvent, events: readonly CanonicalEvent[]): boolean {
    const endsWithUsage = event !== undefined || this.#path.length > 1;
    for (const { type } of events) if (type === 'usage' || (type === 'finish' && endsWithUsage)) return true;
    return false;
  }

  /** The event with the id, the time and other plain members of the first event that the client was sent. */
  #copyHead(data: string): string {
    const event = readObjectAt(JSON.parse(data), []) ?? {};
    const first = (this.#first && readObjectAt(JSON.parse(this.#first), [])) || {};
    const known = Object.keys(event).filter((name) => name in first && typeof first[name] !== 'object');
    return JSON.stringify({ ...event, ...Object.fromEntries(known.map((name) => [name, first[name]])) });
  }
}

type Path = readonly [string, ...string[]];
type Edited = (json: string) => string;

const usual: NonNullable<ClientSide['usagePath']> = { reply: ['usage'], event: ['usage'] };

export function isCostWanted({ headers, operation }: Pick<Routed, 'headers' | 'operation'>): boolean {
  return headers[costHeader] !== undefined && operation !== 'count';
}

/** Where a protocol has its usage, in a JSON reply and in an event. */
function getUsagePath({ usagePath }: Pick<ClientSide, 'usagePath'>): typeof usual {
  return usagePath ?? usual;
}

/**
 * Writes what a call cost into the usage of its reply: a number with all the digits of the amount. In a
 * stream it changes the last event that has usage, and adds no event. That event is in the text that waits
 * until the call is settled.
 */
export function writeCost(text: string, cost: Nano, exchange: Pick<Routed, 'call' | 'protocol'>): string {
  const { reply, event } = getUsagePath(exchange.protocol.client);
  if (!exchange.call.stream) return setCost(text, reply, cost);
  return editLastEvent(text, exchange, (json) => setCost(json, event, cost));
}

/** Edits the last event that has usage. `orLast`: without such an event, the last one. */
function editLastEvent(
  text: string,
  { call, protocol }: Pick<Routed, 'call' | 'protocol'>,
  edit: Edited,
  orLast = false,
): string {
  const { event } = getUsagePath(protocol.client);
  const editLast = call.framing === 'array' ? editLastElement : editLastFrame;
  const edited = editLast(text, (json) => hasObject(json, event), edit);
  return orLast && edited === text ? editLast(text, (json) => json.startsWith('{'), edit) : edited;
}

function setCost(json: string, path: Path, cost: Nano): string {
  return splice(json, [{ path: [...path, 'cost'], value: JSON.rawJSON(formatUsd(cost)) }]);
}

function readObjectAt(
  value: unknown,
  path: readonly string[],
): Readonly<Record<string, unknown>> | undefined {
  let found = value;
  for (const name of path) found = isObject(found) ? found[name] : undefined;
  return isObject(found) ? found : undefined;
}

function hasObject(json: string, path: Path): boolean {
  return json.startsWith('{') && readObjectAt(JSON.parse(json), path) !== undefined;
}

function editLastFrame(text: string, isWanted: (json: string) => boolean, edit: Edited): string {
  const blocks = splitFrames(text);
  const last = blocks.findLastIndex(({ event }) => event && isWanted(event.data));
  return blocks.map((block, index) => (index === last ? editBlock(block, edit) : block.raw)).join('');
}

function splitFrames(text: string): SseBlock[] {
  const reader = new SseReader();
  return [...reader.push(Buffer.from(text)), ...reader.end()];
}

function editBlock({ raw, event }: SseBlock, edit: Edited): string {
  return event ? replaceData(raw, event.data, edit(event.data), event.event) : raw;
}

/** Only the data of a block changes. Data of several lines becomes one line. */
function replaceData(raw: string, before: string, after: string, name: string | undefined): string {
  const at = raw.indexOf(before);
  return at < 0
    ? writeFrame(after.replaceAll('\n', ''), name)
    : raw.slice(0, at) + after + raw.slice(at + before.length);
}

/** The text is the end of an array: some of its elements, each after a bracket or a comma, and a bracket. */
function editLastElement(text: string, isWanted: (json: string) => boolean, edit: Edited): string {
  let [found, foundEnd] = [0, 0];
  for (let at = skipSpace(text, 0); at < text.length && text[at] !== ']';) {
    const start = skipSpace(text, at + 1);
    if (text[start] !== '{') break;
    const end = skipValue(text, start);
    if (isWanted(text.slice(start, end))) [found, foundEnd] = [start, end];
    at = skipSpace(text, end);
  }
  if (foundEnd === 0) return text;
  return text.slice(0, found) + edit(text.slice(found, foundEnd)) + text.slice(foundEnd);
}
