/** Runs one capability between a client and a wire, through sockets, and judges what came of it. */
import { getModel, type Crossing, type FourWires, type Wire } from '../support/four-wires.ts';
import type { Json } from '../support/json.ts';
import { joinStream } from '../support/listen.ts';
import type { Capability } from './capability.ts';
import { least } from './spelling.ts';

/** From the best to the worst. */
const outcomes = ['works', 'approximated', 'lost', 'refused'] as const;
export type Outcome = (typeof outcomes)[number];

/** A capability that was neither carried nor reported as lost: never a cell, always a defect. */
export class Broken extends Error {}

/**
 * Whether there is anything to cross: the client has a word for it, and where only the reply matters the
 * vendor can do it.
 */
export function applies(capability: Capability, client: Wire, wire: Wire): boolean {
  if (!(client in capability.ask)) return false;
  if (capability.judge) return true;
  const replyAlone = capability.got === undefined || capability.follow !== undefined;
  return !replyAlone || capability.does?.[wire] !== undefined;
}

/** Whether both sides have a word for it: then it has to work. */
export function mustWork(capability: Capability, client: Wire, wire: Wire): boolean {
  const { got, shown, does, possible } = capability;
  if (possible && !possible(client, wire)) return false;
  const said = got === undefined || wire in got;
  return said && (shown === undefined || does?.[wire] === undefined || client in shown);
}

function readReply(client: Wire, { text }: Crossing, stream: boolean): Json {
  return stream ? joinStream(client, text) : JSON.parse(text);
}

async function cross(
  harness: FourWires,
  capability: Capability,
  client: Wire,
  wire: Wire,
  stream: boolean,
): Promise<Crossing> {
  const kind = typeof capability.model === 'function' ? capability.model(wire) : capability.model;
  const { id, upstream } = getModel(wire, kind);
  const ask = capability.ask[client] ?? {};
  harness.vendors[wire].script(upstream, capability.does?.[wire] ?? {}, {});
  const first = await harness.ask(client, id, { ...least[client], ...ask }, stream);
  const follow = capability.follow?.[client];
  if (!follow || first.status !== 200) return first;
  return harness.ask(client, id, follow(readReply(client, first, stream)), stream);
}

/**
 * How a part of a capability fared: carried, replaced by something similar, reported as lost, or none of
 * these.
 */
function judgePart(
  carried: boolean | undefined,
  instead: boolean | undefined,
  isReported: boolean,
): Outcome | undefined {
  if (carried) return isReported ? 'approximated' : 'works';
  if (instead) return 'approximated';
  return isReported ? 'lost' : undefined;
}

function judgeOnce(
  capability: Capability,
  client: Wire,
  wire: Wire,
  crossing: Crossing,
  stream: boolean,
): Outcome {
  const { status, text, sent, end } = crossing;
  const place = `${capability.name}, ${client} to ${wire}${stream ? ', streamed' : ''}`;
  if (status === 400 && sent === undefined) return 'refused';
  if (status !== 200 || end.type !== 'answered' || end.outcome !== 'completed')
    throw new Broken(
      `${place}: ${status} ${text.slice(0, 400)}; sent ${JSON.stringify(sent)?.slice(0, 1500)}`,
    );
  const { got, instead, shown, shownInstead, regardless } = capability;
  const body = typeof sent === 'object' && sent !== null ? { ...sent } : {};
  const messages = end.losses.map(({ path }) => path);
  const lost = messages.filter((path) => !path.startsWith('reply.'));
  const carried = got?.[wire]?.(body);
  const request =
    got === undefined || (carried && regardless)
      ? 'works'
      : judgePart(carried, instead?.[wire]?.(body), lost.length > 0);
  if (request === undefined)
    throw new Broken(
      `${place}: the vendor did not receive it, and no loss was reported; ` +
        `sent ${JSON.stringify(sent).slice(0, 1500)}`,
    );
  const nothingShown = shown === undefined || capability.does?.[wire] === undefined || request === 'lost';
  const whole = readReply(client, crossing, stream);
  // Details of one provider that no other can express are reported, and do not count against the capability.
  const reply =
    nothingShown || shown[client]?.(whole)
      ? 'works'
      : judgePart(false, shownInstead?.[client]?.(whole), messages.length > 0);
  if (reply === undefined)
    throw new Broken(
      `${place}: the client did not receive it, and no loss was reported; ` +
        `got ${JSON.stringify(whole).slice(0, 1500)}`,
    );
  return selectWorse(request, reply);
}

function selectWorse(one: Outcome, other: Outcome): Outcome {
  return outcomes.indexOf(one) > outcomes.indexOf(other) ? one : other;
}

/**
 * The outcome of both forms of a call, or of the whole one where nothing in the reply matters; throws
 * `Broken` where something was lost in silence.
 */
export async function judge(
  harness: FourWires,
  capability: Capability,
  client: Wire,
  wire: Wire,
): Promise<Outcome> {
  if (capability.judge) return capability.judge(harness, client, wire);
  const isShown = capability.shown !== undefined && capability.does?.[wire] !== undefined;
  const judged: Outcome[] = [];
  for (const stream of isShown ? [false, true] : [false]) {
    judged.push(
      judgeOnce(capability, client, wire, await cross(harness, capability, client, wire, stream), stream),
    );
  }
  return judged.reduce(selectWorse);
}
