/**
 * Writes what a call cost into the usage of its reply: a number with all the digits of the amount. In a
 * stream it changes the last event that has usage, and adds no event. That event is in the text that waits
 * until the call is settled.
 */
import type { Routed } from '../exchange.ts';
import { costHeader } from '../http/request-headers.ts';
import type { ClientSide } from '../protocol.ts';
import { skipSpace } from '../util/json-text.ts';
import { formatUsd, type Nano } from '../util/money.ts';
import { skipValue, splice } from './splice.ts';
import { SseReader, writeFrame, type SseBlock } from './sse.ts';

type Path = readonly [string, ...string[]];
type Edited = (json: string) => string;

const usual: NonNullable<ClientSide['usagePath']> = { reply: ['usage'], event: ['usage'] };

export function isCostWanted({ headers, operation }: Pick<Routed, 'headers' | 'operation'>): boolean {
  return headers[costHeader] !== undefined && operation !== 'count';
}

/** Where a protocol has its usage, in a JSON reply and in an event. */
export function getUsagePath({ usagePath }: Pick<ClientSide, 'usagePath'>): typeof usual {
  return usagePath ?? usual;
}

export function writeCost(text: string, cost: Nano, exchange: Pick<Routed, 'call' | 'protocol'>): string {
  const { reply, event } = getUsagePath(exchange.protocol.client);
  if (!exchange.call.stream) return setCost(text, reply, cost);
  return editLastEvent(text, exchange, (json) => setCost(json, event, cost));
}

/** Edits the last event that has usage. `orLast`: without such an event, the last one. */
export function editLastEvent(
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

export function readObjectAt(value: unknown, path: readonly string[]): Record<string, unknown> | undefined {
  let found = value;
  for (const name of path) found = isObject(found) ? found[name] : undefined;
  return isObject(found) ? found : undefined;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function hasObject(json: string, path: Path): boolean {
  return json.startsWith('{') && readObjectAt(JSON.parse(json), path) !== undefined;
}

function editLastFrame(text: string, isWanted: (json: string) => boolean, edit: Edited): string {
  const reader = new SseReader();
  const blocks = [...reader.push(Buffer.from(text)), ...reader.end()];
  const last = blocks.findLastIndex(({ event }) => event && isWanted(event.data));
  return blocks.map((block, index) => (index === last ? editBlock(block, edit) : block.raw)).join('');
}

function editBlock({ raw, event }: SseBlock, edit: Edited): string {
  return event ? replaceData(raw, event.data, edit(event.data), event.event) : raw;
}

/** Only the data of a block changes. Data of several lines becomes one line. */
export function replaceData(raw: string, before: string, after: string, name: string | undefined): string {
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
