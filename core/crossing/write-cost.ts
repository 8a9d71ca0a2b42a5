/**
 * Writes what a call cost into the usage of its reply: a number with all the digits of the amount. In a
 * stream it changes the last event that has usage, and adds no event. That event is in the text that waits
 * until the call is settled.
 */
import type { Routed } from '../exchange.ts';
import { costHeader } from '../http/request-headers.ts';
import { formatUsd, type Nano } from '../money.ts';
import type { ClientSide } from '../protocol.ts';
import { skipSpace } from '../util/json-text.ts';
import { skipValue, splice } from './splice.ts';
import { SseReader, writeFrame, type SseBlock } from './sse.ts';

type Path = readonly [string, ...string[]];

const usual: NonNullable<ClientSide['usagePath']> = { reply: ['usage'], event: ['usage'] };

/** Whether the request asks for the cost in the body of its reply. */
export function isCostWanted({ headers, operation }: Pick<Routed, 'headers' | 'operation'>): boolean {
  return headers[costHeader] !== undefined && operation !== 'count';
}

export function writeCost(text: string, cost: Nano, { call, protocol }: Routed): string {
  const { reply, event } = protocol.client.usagePath ?? usual;
  if (!call.stream) return setCost(text, reply, cost);
  return call.framing === 'array' ? writeInElements(text, event, cost) : writeInFrames(text, event, cost);
}

function setCost(json: string, path: Path, cost: Nano): string {
  return splice(json, [{ path: [...path, 'cost'], value: JSON.rawJSON(formatUsd(cost)) }]);
}

function hasObject(json: string, path: Path): boolean {
  if (!json.startsWith('{')) return false;
  let value: unknown = JSON.parse(json);
  for (const name of path)
    value = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
  return typeof value === 'object' && value !== null;
}

function writeInFrames(text: string, path: Path, cost: Nano): string {
  const reader = new SseReader();
  const blocks = [...reader.push(Buffer.from(text)), ...reader.end()];
  const last = blocks.findLastIndex(({ event }) => event && hasObject(event.data, path));
  return blocks
    .map((block, index) => (index === last ? writeInBlock(block, path, cost) : block.raw))
    .join('');
}

/** Only the data changes. Data of several lines becomes one line. */
function writeInBlock({ raw, event }: SseBlock, path: Path, cost: Nano): string {
  if (!event) return raw;
  const [data, at] = [setCost(event.data, path, cost), raw.indexOf(event.data)];
  return at < 0
    ? writeFrame(data.replaceAll('\n', ''), event.event)
    : raw.slice(0, at) + data + raw.slice(at + event.data.length);
}

/** The text is the end of an array: some of its elements, each after a bracket or a comma, and a bracket. */
function writeInElements(text: string, path: Path, cost: Nano): string {
  let [found, foundEnd] = [0, 0];
  for (let at = skipSpace(text, 0); at < text.length && text[at] !== ']';) {
    const start = skipSpace(text, at + 1);
    if (text[start] !== '{') break;
    const end = skipValue(text, start);
    if (hasObject(text.slice(start, end), path)) [found, foundEnd] = [start, end];
    at = skipSpace(text, end);
  }
  if (foundEnd === 0) return text;
  return text.slice(0, found) + setCost(text.slice(found, foundEnd), path, cost) + text.slice(foundEnd);
}
