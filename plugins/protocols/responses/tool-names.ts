/**
 * Maps the tool names of one request between the canonical form and this protocol. Only this protocol has
 * namespaces: a tool with the name of an earlier tool, or of one outside of namespaces, gets a longer
 * canonical name. A name from another protocol may hold characters that OpenAI refuses; it is always replaced
 * by the same valid name.
 */
import { createHash } from 'node:crypto';
import type { CanonicalRequest, Tool } from '../../../core/index.ts';
import { bag } from './bag.ts';

export interface WireName {
  readonly name: string;
  readonly namespace?: string | undefined;
}

const longestName = 64;
const validName = /^[A-Za-z0-9_-]{1,64}$/;

export function hashShort(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}

/** Returns a valid name: the name itself, or its valid characters with a hash. */
export function fitName(name: string): string {
  if (validName.test(name)) return name;
  return `${name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, longestName - 9)}_${hashShort(name)}`;
}

/** Makes the canonical name of a tool if another namespace already uses its own name. */
export function qualifyName({ name, namespace }: WireName): string {
  return fitName(`${namespace}__${name}`);
}

function buildKey({ name, namespace }: WireName): string {
  return JSON.stringify([namespace ?? null, name]);
}

export class ToolNames {
  readonly #toWire = new Map<string, WireName>();
  readonly #fromWire = new Map<string, string>();

  constructor(request: CanonicalRequest) {
    const own = bag.has(request, 'read');
    for (const tool of request.tools ?? []) if (tool.type !== 'hosted') this.#add(tool, own);
    // A model may omit the namespace.
    for (const [canonical, { name }] of this.#toWire) {
      const key = buildKey({ name });
      if (!this.#fromWire.has(key)) this.#fromWire.set(key, canonical);
    }
  }

  #add(tool: Exclude<Tool, { type: 'hosted' }>, own: boolean): void {
    const { name: canonical, namespace } = tool;
    const wire = {
      name: bag.findNote(tool, 'name') ?? (own ? canonical : fitName(canonical)),
      namespace,
    };
    if (!this.#toWire.has(canonical)) this.#toWire.set(canonical, wire);
    if (!this.#fromWire.has(buildKey(wire))) this.#fromWire.set(buildKey(wire), canonical);
  }

  /** Returns undefined if the request has no such tool. */
  toWire(canonical: string): WireName | undefined {
    return this.#toWire.get(canonical);
  }

  /** Returns the name unchanged if the request has no such tool. */
  toCanonical(wire: WireName): string {
    return this.#fromWire.get(buildKey(wire)) ?? wire.name;
  }
}
