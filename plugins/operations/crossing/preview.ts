/** What each target of a call would be sent, by each wire, as an operator sees it. */
import { isUtf8 } from 'node:buffer';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  Host,
  Protocol,
  Rehearsal,
  RehearsedCall,
  RehearsedRequest,
  Target,
} from '../../../core/index.ts';
import type { Crossing, CrossingPreview } from '../../shared/replies/crossing.ts';

/** Crossings shown at most. Each one encodes the whole request. */
const mostCrossings = 24;

/** `everyWire`: shows wires too that the provider does not speak. */
export async function previewCall(
  host: Host,
  call: RehearsedCall,
  everyWire: boolean,
): Promise<CrossingPreview> {
  const { protocol } = call;
  const rehearsal = await host.operations.rehearse(call);
  const { model, error } = rehearsal;
  if (rehearsal.error) return { protocol: protocol.name, model, error, crossings: [], omitted: 0 };
  const wires = everyWire ? [...host.protocols.list()] : [];
  const all = listWays(rehearsal, (target) => wires.filter((wire) => isComparable(wire, protocol, target)));
  const crossings: Crossing[] = [];
  for (const way of all.slice(0, mostCrossings)) {
    crossings.push(describeCrossing(way, await rehearsal.encode(way.target, way.isSpoken)));
    await nextTurn();
  }
  return { protocol: protocol.name, model, error, crossings, omitted: all.length - crossings.length };
}

/** A target by one of its wires. */
interface Way extends Pick<Crossing, 'isChosen' | 'isSpoken'> {
  readonly target: Target;
}

/** The chosen targets in order, then the others, each by all its wires. A provider's keys count as one. */
function listWays(
  { chosen, offered }: Extract<Rehearsal, { error: undefined }>,
  listOthers: (target: Target) => readonly Protocol[],
): Way[] {
  const ways = new Map<string, Way>();
  for (const target of [...chosen, ...offered]) {
    const spoken = new Set([target.protocol, ...(target.wires ?? [])]);
    for (const protocol of new Set([...spoken, ...listOthers(target)])) {
      const key = JSON.stringify([target.provider.name, target.model.id, protocol.name]);
      if (ways.has(key)) continue;
      ways.set(key, {
        target: protocol === target.protocol ? target : { ...target, protocol },
        isChosen: chosen.includes(target) && protocol === target.protocol,
        isSpoken: spoken.has(protocol),
      });
    }
  }
  return [...ways.values()];
}

/**
 * Whether a model could be called by this wire: calls that are no conversations have wires of their own, and
 * a protocol of forms is for pictures.
 */
function isComparable({ body, makes }: Protocol, client: Protocol, { model }: Target): boolean {
  if (makes !== client.makes) return false;
  return body === 'json' || client.body !== 'json' || model.output.includes('image');
}

function describeCrossing(
  { target: { provider, model, protocol }, isChosen, isSpoken }: Way,
  { lane, request, losses, error }: RehearsedRequest,
): Crossing {
  return {
    provider: provider.name,
    model: model.id,
    wire: protocol.name,
    isChosen,
    isSpoken,
    lane,
    request: request && describeRequest(request),
    losses: [...losses],
    error,
  };
}

function describeRequest({
  method,
  url,
  headers,
  body,
}: NonNullable<RehearsedRequest['request']>): Crossing['request'] {
  const text = typeof body === 'string' ? body : describeForm(body, headers['content-type'] ?? '');
  return url === undefined
    ? { method, headers: {}, body: text }
    : { method, url: omitUser(url), headers: { ...headers }, body: text };
}

/** An operator may have put a name and a password into a base URL. */
function omitUser(address: string): string {
  if (!address.includes('@')) return address;
  const url = new URL(address);
  url.username = '';
  url.password = '';
  return url.href;
}

/** The text of a body, for people to read: a file of a form that is not text becomes its size. */
function describeForm(body: Uint8Array, contentType: string): string {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  if (isUtf8(bytes)) return bytes.toString();
  const [, boundary = ''] = contentType.split('boundary=');
  const parts = bytes.toString('latin1').split(`--${boundary}`);
  return parts.map(describePart).join(`--${boundary}`);
}

function describePart(part: string): string {
  const text = Buffer.from(part, 'latin1');
  if (isUtf8(text)) return text.toString();
  const start = part.indexOf('\r\n\r\n') + 4;
  return `${part.slice(0, start)}(${part.length - start - 2} bytes)\r\n`;
}
