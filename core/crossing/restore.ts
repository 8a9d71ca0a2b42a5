/**
 * Makes the changes to a request whose provider speaks the client's own protocol in the client's JSON: what a
 * plugin changed, what the model cannot take, what was left out. Canonical nodes find their place in the body
 * by `at` and are compared by value, so that a copy of the request changes nothing. Everything that stays as
 * it was is sent as the client wrote it.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Block, CanonicalRequest, Turn } from '../canonical/request.ts';
import type { Loss, LossCode } from '../loss.ts';
import type { Model } from '../model-facts.ts';
import type {
  ClientCall,
  Edit,
  EncodedRequest,
  PartEncoder,
  PartPlace,
  PartsSide,
  UpstreamSide,
} from '../protocol.ts';
import { isGatewayError } from '../util/errors.ts';
import { parseExactly } from '../util/json-text.ts';
import { splice } from './splice.ts';
import { instructs } from './truncation.ts';

type Body = Record<string, unknown>;

export interface RestoreOptions {
  readonly call: ClientCall;
  readonly text: string;
  /** The request as the client wrote it, and as it is to be sent. */
  readonly before: CanonicalRequest;
  readonly after: CanonicalRequest;
  readonly model: Model;
  readonly provider: string;
  readonly outputLimit: number | undefined;
}

/** The body as JSON, with what the target needs, and what the encoding of its settings says. */
export interface Restored extends EncodedRequest {
  readonly body: string;
}

/** The settings, and the members that the conversation begins with. */
interface Settings extends Omit<EncodedRequest, 'losses'> {
  readonly body: Body;
  readonly leading: readonly unknown[];
  /** Whether they were encoded for the model, so that they need no further edits. */
  readonly isRefitted: boolean;
}

/** The blocks of a turn do not fit the client's JSON, so the whole turn is encoded again. */
class Unmatched extends Error {}

export function restoreRequest(upstream: UpstreamSide, parts: PartsSide, options: RestoreOptions): Restored {
  return new Restoration(upstream, parts, options).restore();
}

function isObject(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !('rawJSON' in value);
}

function toJson(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/** Whether two canonical values mean the same. A copy by way of JSON lacks members that are undefined. */
function isSame(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(one, other) || isDeepStrictEqual(toJson(one), toJson(other));
}

/** `input[3].content` → `input[3]`; the name alone of what is in no list. */
function findNode(at: string, turn: string): string {
  const isInside = at.startsWith(turn) && /^(?:$|[.[])/.test(at.slice(turn.length));
  return isInside ? turn : (/^\w+\[\d+\]/.exec(at)?.[0] ?? turn);
}

/** The members of the client's list that a turn came from. Some protocols have several for one turn. */
function listNodes({ at, blocks }: Turn): string[] {
  if (at === undefined) return [];
  return [...new Set([...blocks.flatMap((block) => block.at ?? []), at].map((path) => findNode(path, at)))];
}

/** The value at a path with its owner and name. A single thing may stand where a list belongs. */
function locate(body: unknown, at: string): { owner: unknown; name: string | number; value: unknown } {
  let owner: unknown = undefined;
  let name: string | number = '';
  let value = body;
  for (const [step, index] of at.matchAll(/\[(\d+)\]|[^.[\]]+/g)) {
    if (index === '0' && isObject(value)) continue;
    [owner, name] = [value, index === undefined ? step : Number(index)];
    value = typeof owner === 'object' && owner !== null ? Reflect.get(owner, name) : undefined;
  }
  return { owner, name, value };
}

type Change = readonly [old: unknown, fresh: unknown];

/** Throws `Unmatched` if the client's value is not of the form that the encoder gives. */
function merge(own: unknown, [old, fresh]: Change): unknown {
  if (isSame(old, fresh)) return own;
  if (isObject(own) && isObject(old) && isObject(fresh)) return mergeObject(own, old, fresh);
  if (Array.isArray(own) && Array.isArray(old) && Array.isArray(fresh) && own.length === old.length)
    return mergeList(own, old, fresh);
  return fresh;
}

function mergeObject(own: Body, old: Body, fresh: Body): Body {
  if (own.type !== old.type || old.type !== fresh.type || own.role !== old.role) throw new Unmatched();
  const whole = { ...own };
  for (const name of new Set([...Object.keys(old), ...Object.keys(fresh)])) {
    if (isSame(old[name], fresh[name])) continue;
    if (old[name] !== undefined && own[name] === undefined) throw new Unmatched();
    const value = mergeOrReplace(own[name], [old[name], fresh[name]]);
    if (value === undefined) delete whole[name];
    else whole[name] = value;
  }
  return whole;
}

function mergeOrReplace(own: unknown, change: Change): unknown {
  try {
    return merge(own, change);
  } catch (error) {
    if (error instanceof Unmatched) return change[1];
    throw error;
  }
}

/** Members that stayed keep the client's form; where their number stayed, the others are merged. */
function mergeList(own: readonly unknown[], old: readonly unknown[], fresh: readonly unknown[]): unknown[] {
  let from = 0;
  return fresh.map((value, index) => {
    const kept = old.findIndex((each, place) => place >= from && isSame(each, value));
    if (kept >= 0) {
      from = kept + 1;
      return own[kept];
    }
    return old.length === fresh.length ? mergeOrReplace(own[index], [old[index], value]) : value;
  });
}

/** A block's own text. A client may write a block of text as a string. */
function readText(block: Block | undefined): string | undefined {
  return block?.type === 'text' || block?.type === 'refusal' || block?.type === 'reasoning'
    ? block.text
    : undefined;
}

/** Stands for the conversation where the settings are encoded alone. The word keeps JSON mode content. */
const standIn: Turn = { role: 'user', blocks: [{ type: 'text', text: 'json' }] };

/** What takes the place of a node: nothing, one value, or several in a list. */
interface Replacement {
  readonly at: string;
  readonly nodes: readonly unknown[];
}

class Restoration {
  readonly #options: RestoreOptions;
  readonly #upstream: UpstreamSide;
  readonly #encoder: PartEncoder;
  readonly #list: string;
  readonly #liftsInstructions: boolean;
  readonly #body: Body;
  readonly #losses: Loss[] = [];
  /** Whether the instructions change in a way that only a new encoding of all of them expresses. */
  #rewritesInstructions = false;
  /** Whether a node is encoded only to be compared. */
  #isTrial = false;

  constructor(upstream: UpstreamSide, parts: PartsSide, options: RestoreOptions) {
    const { call, text, after: request, model } = options;
    const body = parseExactly(text);
    if (!isObject(body)) throw new TypeError('A body is an object.');
    this.#upstream = upstream;
    this.#options = options;
    this.#list = parts.list;
    this.#liftsInstructions = parts.liftsInstructions ?? false;
    this.#body = body;
    const lose = (path: string, reason: string, code: LossCode = 'unsupported'): void => {
      if (!this.#isTrial) this.#losses.push({ path, reason, code });
    };
    this.#encoder = parts.start({ call, text, request, model, lose });
  }

  restore(): Restored {
    const written = this.#body[this.#list];
    const turns = this.#restoreTurns();
    const { body, leading, isRefitted, ...settings } = this.#restoreSettings();
    const list = [...leading, ...turns];
    const isSingle = list.length === 1 && list[0] === this.#body[this.#list];
    if (isSingle) body[this.#list] = list[0];
    else if (written !== undefined || list.length > 0)
      body[this.#list] = list.flatMap((node) => this.#listNode(node));
    const json = JSON.stringify(this.#encoder.finish?.(body) ?? body);
    return { ...settings, body: isRefitted ? json : splice(json, this.#retarget()), losses: this.#losses };
  }

  /** A conversation of one text is a string only while it is alone. */
  #listNode(node: unknown): readonly unknown[] {
    const { turns } = this.#options.after;
    const index = typeof node === 'string' ? turns.findIndex(({ at }) => at === this.#list) : -1;
    const turn = turns[index];
    return turn ? this.#encoder.encodeTurn(turn, index) : [node];
  }

  #retarget(): readonly Edit[] {
    const { call, model, provider, outputLimit } = this.#options;
    const { upstream, capabilities } = model;
    return this.#upstream.retarget({ call, model: upstream, provider, outputLimit, capabilities });
  }

  #restoreTurns(): unknown[] {
    const { before, after } = this.#options;
    const left = new Map(before.turns.map((turn) => [turn.at, turn]));
    const members = this.#assignMembers();
    const list = this.#readMembers(members.get(undefined));
    for (const [index, turn] of after.turns.entries()) {
      const old = turn.at === undefined ? undefined : left.get(turn.at);
      left.delete(turn.at);
      const isEdited = old !== undefined && this.#editTurn(old, turn, index);
      if (this.#isOutside(turn)) this.#rewritesInstructions ||= !isEdited;
      else if (isEdited) for (const node of this.#readMembers(members.get(old))) list.push(node);
      else for (const node of this.#encoder.encodeTurn(turn, index)) list.push(node);
    }
    for (const at of left.keys()) if (at !== undefined && !this.#isListed(at)) delete this.#body[at];
    return list;
  }

  /** The instructions outside of the list, with those that a plugin put before the conversation. */
  #listInstructions({ turns }: CanonicalRequest): Turn[] {
    const spoken = turns.findIndex((turn) => !instructs(turn));
    return turns.filter(({ at }, index) => {
      if (at !== undefined) return !this.#isListed(at);
      return this.#liftsInstructions && (spoken < 0 || index < spoken);
    });
  }

  #isListed(at: string): boolean {
    return at === this.#list || at.startsWith(`${this.#list}[`);
  }

  #isOutside(turn: Turn): boolean {
    return instructs(turn) && this.#listInstructions(this.#options.after).includes(turn);
  }

  #readMembers(names: readonly string[] = []): unknown[] {
    return names.map((name) => locate(this.#body, name).value);
  }

  /** The members of the list by turn. One that no turn was made of goes with the turn before it. */
  #assignMembers(): Map<Turn | undefined, string[]> {
    const { turns } = this.#options.before;
    const owners = new Map(turns.flatMap((turn) => listNodes(turn).map((name) => [name, turn] as const)));
    const members = new Map<Turn | undefined, string[]>();
    const add = (owner: Turn | undefined, name: string): void => {
      const list = members.get(owner);
      if (list) list.push(name);
      else members.set(owner, [name]);
    };
    const single = owners.get(this.#list);
    if (single) add(single, this.#list);
    let owner: Turn | undefined;
    for (let index = 0; index < countMembers(this.#body[this.#list]); index += 1) {
      const name = `${this.#list}[${index}]`;
      const known = owners.get(name);
      if (!known && this.#encoder.isStale(index)) continue;
      owner = known ?? owner;
      add(owner, name);
    }
    return members;
  }

  /** Changes a turn at the places of its blocks. Returns false if the whole turn has to be encoded. */
  #editTurn(old: Turn, turn: Turn, index: number): boolean {
    if (listNodes(old).some((node) => this.#isStaleNode(node)) || this.#holdsForeignState(turn)) return false;
    if (!isSame({ ...old, blocks: [] }, { ...turn, blocks: [] })) return false;
    try {
      const edits = this.#planEdits(old.blocks, turn.blocks, { turn, path: `turns[${index}].blocks` });
      // Later places first, so that earlier indices stay valid.
      return edits.toReversed().every((edit) => applyEdit(this.#body, edit));
    } catch (error) {
      if (error instanceof Unmatched) return false;
      throw error;
    }
  }

  #holdsForeignState({ blocks }: Turn): boolean {
    return blocks.some(
      (block) =>
        'opaque' in block && block.opaque?.some((state) => this.#encoder.readsState?.(state) === false),
    );
  }

  #isStaleNode(node: string): boolean {
    const index = /\[(\d+)\]$/.exec(node)?.[1];
    return index !== undefined && this.#encoder.isStale(Number(index));
  }

  /** Throws `Unmatched` if blocks were added or moved. */
  #planEdits(olds: readonly Block[], blocks: readonly Block[], place: PartPlace): Replacement[] {
    if (blocks === olds) return [];
    const edits: Replacement[] = [];
    const fresh = groupBlocks(blocks);
    for (const [at, old] of groupBlocks(olds)) {
      const kept = fresh[0]?.[0] === at ? fresh.shift()?.[1] : undefined;
      if (kept && isSame(old, kept)) continue;
      if (at === undefined) throw new Unmatched();
      const path = kept?.[0] ? `${place.path}[${blocks.indexOf(kept[0])}]` : place.path;
      if (kept) for (const edit of this.#planChange(at, [old, kept], { ...place, path })) edits.push(edit);
      else edits.push(this.#planRemoval(at, old));
    }
    if (fresh.length > 0) throw new Unmatched();
    return edits;
  }

  #planRemoval(at: string, [old]: readonly Block[]): Replacement {
    const { owner } = locate(this.#body, at);
    if (isMember(at) || (!Array.isArray(owner) && old?.type !== 'reasoning')) throw new Unmatched();
    return { at, nodes: [] };
  }

  #planChange(
    at: string,
    [olds, blocks]: readonly [readonly Block[], readonly Block[]],
    place: PartPlace,
  ): Replacement[] {
    const { value } = locate(this.#body, at);
    const [[old, ...more], [block, ...others]] = [olds, blocks];
    const list = more.length > 0 && olds.length === blocks.length ? findList(value, olds.length) : undefined;
    if (list !== undefined)
      return blocks.flatMap((each, index) => {
        const written = olds[index];
        if (!written || isSame(written, each)) return [];
        const path = place.path.replace(/\[(\d+)\]$/, (_, last: string) => `[${Number(last) + index}]`);
        return this.#planChange(`${at}${list}[${index}]`, [[written], [each]], { ...place, path });
      });
    const isAlone = more.length === 0 && others.length === 0;
    if (isAlone && old?.type === 'tool-result' && block?.type === 'tool-result')
      if (isSame({ ...old, content: [] }, { ...block, content: [] }))
        return this.#planEdits(old.content, block.content, { ...place, path: `${place.path}.content` });
    if (typeof value === 'string') {
      const text = readText(block);
      const isText = isAlone && text !== undefined && isSame({ ...old, text }, block);
      if (!isText) throw new Unmatched();
      return [{ at, nodes: [text] }];
    }
    const encode = (list: readonly Block[]): unknown[] =>
      list.flatMap((each) => this.#encoder.encodeBlock(each, place));
    const nodes = encode(blocks);
    const before = this.#try(() => encode(olds));
    try {
      if (isSame(before, nodes) || before.length !== 1 || nodes.length !== 1) throw new Unmatched();
      return [{ at, nodes: [merge(value, [before[0], nodes[0]])] }];
    } catch (error) {
      if (!(error instanceof Unmatched) || isMember(at)) throw error;
      return [{ at, nodes }];
    }
  }

  /** What the client wrote may be what an encoder refuses. */
  #try(encode: () => unknown[]): unknown[] {
    this.#isTrial = true;
    try {
      return encode();
    } catch (error) {
      if (isGatewayError(error)) return [];
      throw error;
    } finally {
      this.#isTrial = false;
    }
  }

  #restoreSettings(): Settings {
    const { before, after } = this.#options;
    const body = this.#body;
    const mustFit = this.#encoder.refitsSettings ?? false;
    if (!mustFit && !this.#rewritesInstructions && isSame(readSettings(before), readSettings(after)))
      return { body, leading: [], isRefitted: false };
    const instructions = this.#listInstructions(after);
    const { body: fresh, losses, ...more } = this.#encodeSettings(after, instructions);
    const leading = readArray(fresh[this.#list]).slice(0, -1);
    const written = this.#rewritesInstructions ? this.#listInstructions(before) : instructions;
    const old = mustFit ? undefined : this.#encodeSettings(before, written);
    const known = old?.losses.map(({ path }) => path);
    for (const loss of losses) {
      const isOwn = !loss.path.startsWith(`turns[${instructions.length}]`);
      if (isOwn && !known?.includes(loss.path)) this.#losses.push(loss);
    }
    const changes = old && this.#planSettings(old.body, fresh);
    if (!old || !changes) return { ...more, body: fresh, leading, isRefitted: true };
    for (const [name, value] of changes)
      if (value === undefined) delete body[name];
      else body[name] = value;
    const same = readArray(old.body[this.#list]);
    return {
      ...more,
      body,
      leading: leading.filter((each) => !same.some((one) => isSame(one, each))),
      isRefitted: false,
    };
  }

  /** The fields that change. Undefined if the client wrote one of them under another name. */
  #planSettings(old: Body, fresh: Body): [name: string, value: unknown][] | undefined {
    const names = [...new Set([...Object.keys(old), ...Object.keys(fresh)])].filter(
      (name) => name !== this.#list && !isSame(old[name], fresh[name]),
    );
    return names.some((name) => old[name] !== undefined && this.#body[name] === undefined)
      ? undefined
      : names.map((name) => [name, mergeOrReplace(this.#body[name], [old[name], fresh[name]])]);
  }

  #encodeSettings(request: CanonicalRequest, instructions: readonly Turn[]): EncodedRequest & { body: Body } {
    const { model, outputLimit } = this.#options;
    const turns = [...instructions, standIn];
    const encoded = this.#upstream.encodeRequest({ ...request, turns }, model, outputLimit, true);
    return { ...encoded, body: isObject(encoded.body) ? { ...encoded.body } : {} };
  }
}

function readSettings({ turns: _turns, names: _names, ...settings }: CanonicalRequest): object {
  return settings;
}

/** A single object may stand where a list belongs. */
function countMembers(list: unknown): number {
  return Array.isArray(list) ? list.length : Number(isObject(list));
}

function readArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Blocks that stand side by side at the same place, by that place. */
function groupBlocks(blocks: readonly Block[]): [at: string | undefined, blocks: Block[]][] {
  const groups: [string | undefined, Block[]][] = [];
  for (const block of blocks) {
    const last = groups.at(-1);
    if (last && last[0] === block.at) last[1].push(block);
    else groups.push([block.at, [block]]);
  }
  return groups;
}

/** Several blocks of one place are the members of a list within it. */
function findList(value: unknown, length: number): string | undefined {
  for (const [name, member] of Object.entries(isObject(value) ? value : {})) {
    if (Array.isArray(member) && member.length === length) return `.${name}`;
    const inner = findList(member, length);
    if (inner !== undefined) return `.${name}${inner}`;
  }
  return undefined;
}

/** Whether a path is that of a member of the client's list, or of a member of the body. */
function isMember(at: string): boolean {
  return /^\w+(\[\d+\])?$/.test(at);
}

/** Returns false if the change would leave an empty list, which providers refuse. */
function applyEdit(body: Body, { at, nodes }: Replacement): boolean {
  const { owner, name } = locate(body, at);
  if (Array.isArray(owner)) {
    owner.splice(Number(name), 1, ...nodes);
    return owner.length > 0;
  }
  if (!isObject(owner) || nodes.length > 1) return false;
  if (nodes.length === 0) delete owner[name];
  else owner[name] = nodes[0];
  return true;
}
