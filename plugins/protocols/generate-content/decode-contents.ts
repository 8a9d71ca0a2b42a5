/**
 * Decodes contents to canonical turns. A client that stores a stream chunk by chunk sends one model content
 * per chunk. Adjacent model contents become one turn, because other protocols require reasoning and calls in
 * the same turn.
 */
import { hasPlainNumbers, parseExactly, type Block, type BlockOf, type Turn } from '../../../core/index.ts';
import { buildForeignBlock } from '../../shared/wire-kit/open-values.ts';
import { containsNumber } from '../../shared/wire-kit/tool-arguments.ts';
import { readMember } from '../../shared/wire-kit/values.ts';
import { isObject, pickUnread, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { CallPairs } from './call-pairs.ts';
import { decodePart } from './decode-parts.ts';
import { isNative } from './signature.ts';
import { readSpelling } from './spelling.ts';
import * as Wire from './wire.ts';

const roles: ReadonlyMap<string, 'assistant' | 'user' | 'tool'> = new Map([
  ['model', 'assistant'],
  ['user', 'user'],
  ['function', 'tool'],
]);

/** Returns the instructions as a system turn, then the contents. `text` is the JSON text of the body. */
export function decodeTurns({ systemInstruction, contents }: Wire.Request, text: string): Turn[] {
  const calls = new CallPairs();
  const exact = findExactParts(contents, text);
  const turns: Turn[] = [];
  if (systemInstruction) turns.push(decodeInstruction(systemInstruction, calls));
  for (const [index, content] of contents.entries()) {
    const at = `contents[${index}]`;
    const role = roles.get(content.role ?? 'user');
    if (role === undefined) {
      turns.push(decodeUnknownRole(content, at));
      continue;
    }
    const blocks = content.parts.map((part, place) =>
      decodePart(part, { at: `${at}.parts[${place}]`, content: index, calls, exact: exact(index, place) }),
    );
    if (role !== 'assistant') for (const block of blocks) if (isUnknownBlock(block)) block.needed = true;
    const previous = turns.at(-1);
    const rest = pickUnread(content, ['role', 'parts']);
    if (role === 'assistant' && previous?.role === 'assistant' && Object.keys(rest).length === 0) {
      for (const block of blocks) previous.blocks.push(block);
    } else {
      turns.push({ role, blocks, at, ...bag.keep(rest) });
    }
  }
  for (const turn of turns) if (turn.role === 'assistant') turn.blocks = joinReasoning(turn.blocks);
  return turns;
}

/** Whether a part is of an unknown kind. An answer that ignores a user's part would be worthless. */
function isUnknownBlock(block: Block): block is BlockOf<'foreign'> {
  return block.type === 'foreign' && Wire.isUnknownPart(block.value);
}

/** Keeps the content unchanged, because an unknown role cannot be translated. */
function decodeUnknownRole(content: Wire.Content, at: string): Turn {
  const block = buildForeignBlock(protocolName, content, `${at}.role`, 'needed');
  return { role: 'user', blocks: [block], at };
}

function decodeInstruction(
  instruction: NonNullable<Wire.Request['systemInstruction']>,
  calls: CallPairs,
): Turn {
  const { parts } = instruction;
  const blocks = parts.map((part, place) =>
    decodePart(part, { at: `systemInstruction.parts[${place}]`, content: -1, calls }),
  );
  return {
    role: 'system',
    blocks,
    at: 'systemInstruction',
    ...bag.keep(pickUnread(instruction, ['role', 'parts'])),
  };
}

/**
 * Returns a lookup of parts with the exact digits that the client wrote in arguments and responses. Parses
 * the text again only if it holds a number that JavaScript would change.
 */
function findExactParts(
  contents: readonly Wire.Content[],
  text: string,
): (content: number, part: number) => Fields | undefined {
  const hasNumbers = contents.some(({ parts }) =>
    parts.some(
      ({ functionCall, functionResponse }) =>
        containsNumber(functionCall?.args) || containsNumber(functionResponse?.response),
    ),
  );
  const whole = hasNumbers && !hasPlainNumbers(text) ? readSpelling(parseExactly(text)).body : undefined;
  const exact = readMember(readMember(whole, 'generateContentRequest') ?? whole, 'contents');
  return (content, part) => {
    const found = readMember(readMember(readMember(exact, content), 'parts'), part);
    return isObject(found) ? found : undefined;
  };
}

/** Joins the pieces of streamed reasoning, because another vendor's seal covers the entire text. */
function joinReasoning(blocks: readonly Block[]): Block[] {
  const joined: Block[] = [];
  for (const block of blocks) {
    if (block.type !== 'reasoning' || !block.opaque?.some((opaque) => !isNative(opaque))) {
      joined.push(block);
      continue;
    }
    let { text, at } = block;
    for (let last = joined.at(-1); last?.type === 'reasoning' && !last.opaque; last = joined.at(-1)) {
      [text, at] = [last.text + text, last.at];
      joined.pop();
    }
    joined.push({ ...block, text, at });
  }
  return joined;
}
