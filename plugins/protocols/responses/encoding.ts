/**
 * What all parts of this protocol share: its name and bag, the flags of a model's endpoint, the context of
 * its encoders, tool names, and sealed state. State goes into the only field that this protocol has for it,
 * `encrypted_content` of a reasoning item: OpenAI's unchanged, other vendors' in an envelope. State of a tool
 * call, a text or an image gets a reasoning item of its own. The envelope names its owner: the call by its
 * id, or the block right before the item.
 */
import { z } from 'zod';
import { createFlagReader, type CanonicalRequest, type Opaque, type Turn } from '../../../core/index.ts';
import type { Dialect, OpenaiEncoding } from '../../shared/openai/dialect.ts';
import { describeOpenaiProtocol } from '../../shared/openai/foreign.ts';
import { fitName } from '../../shared/openai/tools.ts';
import { buildEncoding, type Target } from '../../shared/wire-kit/encoding.ts';
import { seal, unsealOwned } from '../../shared/wire-kit/envelope.ts';
import { createBag, type Sides } from '../../shared/wire-kit/vendor-bag.ts';
import { isKnownPart } from './wire.ts';

export const protocolName = 'responses';
/** Some base URLs have no version. */
export const bases = ['/v1', ''];
export const bag = createBag(protocolName);
describeOpenaiProtocol(protocolName);
export const dialect: Dialect = { protocol: protocolName, bag, nests: false, isKnownPart };

/** Sealed reasoning and file ids without an envelope belong to this vendor. */
export const nativeVendor = 'openai';

/** The same thing without one of its own fields. */
export function omitOwnField<Thing extends Sides>(thing: Thing, name: string): Thing {
  const { [name]: omitted, ...fields } = bag.getFields(thing);
  return omitted === undefined ? thing : { ...thing, vendor: bag.keep(fields).vendor };
}

export interface Encoding extends OpenaiEncoding {
  readonly names: ToolNames;
  readonly isPerplexity: boolean;
  /** Ids of calls to custom tools. Their results have an item type of their own. */
  readonly customCalls: ReadonlySet<string>;
}

export const flagsSchema = z.strictObject({
  /** xAI's ids of replies lack the prefix that clients expect. */
  ids: z.enum(['prefixed', 'bare']).default('prefixed'),
  /** Whether the model accepts OpenAI's cache marks. Most refuse them. */
  cacheMarks: z.boolean().default(false),
  /** Whether the vendor compacts conversations itself, and takes what else Codex sends to OpenAI alone. */
  compaction: z.boolean().default(false),
  /** Perplexity demands a type of each message, takes an answer as one text, and has filters of its own. */
  dialect: z.enum(['openai', 'perplexity']).default('openai'),
});

export const readFlags = createFlagReader(protocolName, flagsSchema);

export interface WireName {
  readonly name: string;
  readonly namespace?: string | undefined;
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

const nativeKind = 'encrypted';
const blockBefore = 'the block before';

/** The owner of the state: a tool call, the block before, or (if undefined) the reasoning item itself. */
export type Owner = { readonly call: string } | 'block' | undefined;

export interface Sealed {
  readonly opaque: Opaque;
  readonly owner: Owner;
}

/** Owners of models, other than OpenAI, that seal reasoning themselves. */
const otherSealers: ReadonlySet<string> = new Set(['xai']);

/** Returns the vendor that seals a model's reasoning. `model` is `<owner>/<name>`. */
export function findSealer(model: string): string {
  const owner = model.slice(0, Math.max(0, model.indexOf('/')));
  return otherSealers.has(owner) ? owner : nativeVendor;
}

/** OpenAI's sealed state is a Fernet token. All Fernet tokens begin like this. */
const fernet = /^gAAAA/;

export function isNativeSeal(content: string): boolean {
  return fernet.test(content);
}

/** `sealer` is the vendor of state that has no envelope. */
export function readSealed(content: string, sealer: string): Sealed {
  const sealed = unsealOwned(content);
  if (!sealed)
    return {
      opaque: { vendor: isNativeSeal(content) ? nativeVendor : sealer, kind: nativeKind, value: content },
      owner: undefined,
    };
  const { opaque, owner } = sealed;
  if (owner === undefined) return { opaque, owner };
  return { opaque, owner: owner === blockBefore ? 'block' : { call: owner } };
}

export function writeSealed(opaque: Opaque, owner: Owner): string {
  if (owner !== undefined) return seal(opaque, owner === 'block' ? blockBefore : owner.call);
  return opaque.vendor === nativeVendor && opaque.kind === nativeKind ? opaque.value : seal(opaque);
}

export function createEncoding(request: CanonicalRequest, target: Target): Encoding {
  const encoding = buildEncoding(request, target);
  const { inPlace } = encoding;
  const { cacheMarks: marks, dialect: spoken } = readFlags(target.model.capabilities);
  const names = new ToolNames(request, inPlace);
  const customCalls = findCustomCallIds(request.turns);
  return {
    ...encoding,
    dialect,
    extras: true,
    isOpenai: encoding.owner === nativeVendor,
    nameTool: (name) => names.toWire(name)?.name ?? name,
    names,
    marks,
    isPerplexity: !inPlace && spoken === 'perplexity',
    customCalls,
  };
}

function findCustomCallIds(turns: readonly Turn[]): Set<string> {
  return new Set(
    turns.flatMap(({ blocks }) =>
      blocks.flatMap((block) => (block.type === 'tool-call' && block.custom ? [block.id] : [])),
    ),
  );
}
