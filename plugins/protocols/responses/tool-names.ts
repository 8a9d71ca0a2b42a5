/**
 * Maps the tool names of one request between the canonical form and this protocol. Only this protocol has
 * namespaces: a tool with the name of an earlier tool, or of one outside of namespaces, gets a longer
 * canonical name. A name from another protocol may hold characters that OpenAI refuses; it is always replaced
 * by the same valid name.
 */
import { createHash } from 'node:crypto';
import type { CanonicalRequest } from '../../../core/index.ts';

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

/** The key in a request's names under which the client's name of a tool is kept, if it is another. */
export function buildNameKey(canonical: string): string {
  return `tool ${canonical}`;
}

function buildKey({ name, namespace }: WireName): string {
  return JSON.stringify([namespace ?? null, name]);
}

export class ToolNames {
  readonly #toWire = new Map<string, WireName>();
  readonly #fromWire = new Map<string, string>();

  /** `isOwn`: the tools are those of a client of this protocol, under its own names. */
  constructor({ tools = [], names = {} }: CanonicalRequest, isOwn: boolean) {
    for (const tool of tools) {
      if (tool.type === 'hosted') continue;
      const { name: canonical, namespace } = tool;
      const name = names[buildNameKey(canonical)] ?? (isOwn ? canonical : fitName(canonical));
      const wire = { name, namespace };
      if (!this.#toWire.has(canonical)) this.#toWire.set(canonical, wire);
      if (!this.#fromWire.has(buildKey(wire))) this.#fromWire.set(buildKey(wire), canonical);
    }
    // A model may omit the namespace.
    for (const [canonical, { name }] of this.#toWire) {
      const key = buildKey({ name });
      if (!this.#fromWire.has(key)) this.#fromWire.set(key, canonical);
    }
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
