/**
 * The names of one request's tools, in both directions. Here tools may stand in a namespace, which no other wire
 * has: two of the same name in different ones are told apart by a longer canonical name. And a name that came from
 * another wire may hold characters this one refuses: it is written anew, in the same way each time.
 */
import { createHash } from 'node:crypto';
import type { CanonicalRequest, Tool } from '../../../core/index.ts';
import { bag } from './bag.ts';
import { readFlag } from './item-flags.ts';

export interface WireName {
  readonly name: string;
  readonly namespace?: string | undefined;
}

const longestName = 64;
const fits = /^[A-Za-z0-9_-]{1,64}$/;

export function hashShort(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}

/** A name this wire takes: itself where it fits, else its fitting characters and a hash of it. */
export function fitName(name: string): string {
  if (fits.test(name)) return name;
  return `${name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, longestName - 9)}_${hashShort(name)}`;
}

/** The canonical name of a tool in a namespace where another one has the same name. */
export function qualifyName({ name, namespace }: WireName): string {
  return fitName(`${namespace}__${name}`);
}

function key({ name, namespace }: WireName): string {
  return JSON.stringify([namespace ?? null, name]);
}

export class ToolNames {
  readonly #toWire = new Map<string, WireName>();
  readonly #fromWire = new Map<string, string>();

  constructor(request: CanonicalRequest) {
    const own = bag.form(request).includes('read');
    for (const tool of request.tools ?? []) if (tool.type !== 'hosted') this.#add(tool, own);
  }

  #add(tool: Exclude<Tool, { type: 'hosted' }>, own: boolean): void {
    const { name: canonical, namespace } = tool;
    const wire = {
      name: readFlag(bag.form(tool), 'name') ?? (own ? canonical : fitName(canonical)),
      namespace,
    };
    if (!this.#toWire.has(canonical)) this.#toWire.set(canonical, wire);
    if (!this.#fromWire.has(key(wire))) this.#fromWire.set(key(wire), canonical);
    // A model may leave the namespace out.
    if (!this.#fromWire.has(key({ name: wire.name })))
      this.#fromWire.set(key({ name: wire.name }), canonical);
  }

  /** A tool's name and namespace here; undefined where the request has no such tool. */
  toWire(canonical: string): WireName | undefined {
    return this.#toWire.get(canonical);
  }

  /** The canonical name of a tool that was called; as it was called where the request has no such tool. */
  toCanonical(wire: WireName): string {
    return this.#fromWire.get(key(wire)) ?? wire.name;
  }
}
