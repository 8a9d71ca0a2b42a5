/**
 * Contents to canonical turns. Clients that keep a stream as it came have a content of the model's for each chunk:
 * contents of the model in a row are one turn, since other protocols tie calls and reasoning to theirs.
 */
import type { Block, Opaque, Turn } from '../../../core/index.ts';
import { markUnknown } from '../../shared/wire-kit/open-values.ts';
import { holdsNumber, isUsual, parseExactly } from '../../shared/wire-kit/tool-arguments.ts';
import { isObject, leftover, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { Calls } from './call-pairs.ts';
import { decodePart } from './decode-parts.ts';
import { isNative } from './signature.ts';
import { readSpelling } from './spelling.ts';
import { isStrangePart, type WireContent, type WireRequest } from './wire.ts';

/** Marks a block that opened a content of its own in the middle of its turn. */
export const contentStart = 'content';

/** Marks the role that instructions were written with, which nobody reads. */
export const roleForm = 'role:';

const contentFields = new Set(['role', 'parts']);
const roles: ReadonlyMap<string, 'assistant' | 'user' | 'tool'> = new Map([
  ['model', 'assistant'],
  ['user', 'user'],
  ['function', 'tool'],
]);
/** How a content is kept whole whose role is not known here. */
export const wholeContent = 'whole';

/** The instructions first, as a turn of the system's, then the contents. */
export function decodeTurns({ systemInstruction, contents }: WireRequest, text: string): Turn[] {
  const calls = new Calls();
  const exact = exactParts(contents, text);
  const turns: Turn[] = [];
  if (systemInstruction) turns.push(decodeInstruction(systemInstruction, calls));
  for (const [index, content] of contents.entries()) {
    const at = `contents[${index}]`;
    const role = roles.get(content.role ?? 'user');
    if (role === undefined) {
      turns.push(decodeStrange(content, at));
      continue;
    }
    const blocks = content.parts.map((part, place) =>
      decodePart(part, { at: `${at}.parts[${place}]`, content: index, calls, exact: exact(index, place) }),
    );
    if (role !== 'assistant')
      for (const block of blocks) if (isStrange(block)) Object.assign(block, markUnknown(protocolName));
    const previous = turns.at(-1);
    const rest = leftover(content, contentFields);
    if (role === 'assistant' && previous?.role === 'assistant' && Object.keys(rest).length === 0) {
      for (const [place, block] of blocks.entries())
        previous.blocks.push(place === 0 ? marked(block) : block);
    } else {
      turns.push({ role, blocks, at, ...bag.keep(rest, content.role ? [] : ['no-role']) });
    }
  }
  for (const turn of turns) if (turn.role === 'assistant') turn.blocks = gatherReasoning(turn.blocks);
  return turns;
}

/** Whether a part is of a kind that is not known here, which an answer would be worthless without. */
function isStrange(block: Block): boolean {
  return block.type === 'foreign' && isObject(block.value) && isStrangePart(block.value);
}

function decodeStrange(content: WireContent, at: string): Turn {
  const block: Block = {
    type: 'foreign',
    protocol: protocolName,
    value: content,
    at: `${at}.role`,
    ...markUnknown(protocolName),
  };
  return { role: 'user', blocks: [block], at, ...bag.keep({}, [wholeContent]) };
}

function decodeInstruction(
  { parts, role, ...rest }: NonNullable<WireRequest['systemInstruction']>,
  calls: Calls,
): Turn {
  const blocks = parts.map((part, place) =>
    decodePart(part, { at: `systemInstruction.parts[${place}]`, content: -1, calls }),
  );
  return {
    role: 'system',
    blocks,
    at: 'systemInstruction',
    ...bag.keep(role === null ? { role, ...rest } : rest, role ? [`${roleForm}${role}`] : []),
  };
}

function marked(block: Block): Block {
  return { ...block, ...bag.keep(bag.fields(block), [...bag.form(block), contentStart]) };
}

/** Parts with the digits the client wrote in arguments and responses; the text is only read again where there are any. */
function exactParts(
  contents: readonly WireContent[],
  text: string,
): (content: number, part: number) => Fields | undefined {
  const counts = contents.some(({ parts }) =>
    parts.some(
      ({ functionCall, functionResponse }) =>
        holdsNumber(functionCall?.args) || holdsNumber(functionResponse?.response),
    ),
  );
  const whole = counts && !isUsual(text) ? readSpelling(parseExactly(text)).body : undefined;
  const exact = member(member(whole, 'generateContentRequest') ?? whole, 'contents');
  return (content, part) => {
    const found = member(member(member(exact, content), 'parts'), part);
    return isObject(found) ? found : undefined;
  };
}

function member(value: unknown, name: string | number): unknown {
  if (Array.isArray(value)) return value[Number(name)];
  return isObject(value) ? value[name] : undefined;
}

function foreignSeal(block: Block): Opaque | undefined {
  return block.type === 'reasoning' ? block.opaque?.find((opaque) => !isNative(opaque)) : undefined;
}

/** Another vendor's seal is over all the text of its reasoning, which a stream has brought in pieces. */
function gatherReasoning(blocks: readonly Block[]): Block[] {
  const gathered: Block[] = [];
  for (const block of blocks) {
    if (block.type !== 'reasoning' || !foreignSeal(block)) {
      gathered.push(block);
      continue;
    }
    let { text, at } = block;
    for (let last = gathered.at(-1); last?.type === 'reasoning' && !last.opaque; last = gathered.at(-1)) {
      [text, at] = [last.text + text, last.at];
      gathered.pop();
    }
    gathered.push({ ...block, text, at });
  }
  return gathered;
}
