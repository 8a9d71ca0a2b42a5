/** Decodes the system prompt and the messages to canonical turns. */
import { parseExactly, type Block, type Turn } from '../../../core/index.ts';
import { findKnown } from '../../shared/wire-kit/open-values.ts';
import { containsNumber, hasLongNumber } from '../../shared/wire-kit/tool-arguments.ts';
import { readMember } from '../../shared/wire-kit/values.ts';
import { pickUnread, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import { isCrossedBlock, removeCrossedCitations } from './crossed-searches.ts';
import { decodeBlocks, decodeSummary, keepForeign } from './decode-blocks.ts';
import { UnsealedBlocks } from './sealed.ts';
import * as Wire from './wire.ts';

/** Decodes all turns. Numbers in a tool's input that a double cannot hold are read from the text instead. */
export function decodeTurns({ system, messages }: Wire.Request, text: string): Turn[] {
  const counts = messages.some(
    ({ content }) =>
      typeof content === 'object' &&
      content.some(
        (block) => Wire.isKnownBlock(block) && block.type === 'tool_use' && containsNumber(block.input),
      ),
  );
  const exact = counts && hasLongNumber(text) ? readMember(parseExactly(text), 'messages') : undefined;
  const turns = messages.map((message, index) =>
    decodeMessage(message, `messages[${index}]`, readMember(exact, index)),
  );
  if (system === undefined || system === null) return turns;
  return [
    {
      role: 'system',
      blocks: decodeContent(system, 'system', undefined, true),
      at: 'system',
    },
    ...turns,
  ];
}

const roles = ['user', 'assistant', 'system'] as const;

function decodeMessage(message: Wire.Message, at: string, exact: unknown): Turn {
  const role = findKnown(message.role, roles);
  const { content } = message;
  if (role === undefined || content === undefined) {
    const foreign =
      role === undefined
        ? keepForeign(message, `${at}.role`, true)
        : keepForeign(message, `${at}.output_config`, false);
    return { role: role ?? 'user', blocks: [foreign], at };
  }
  const exactContent = readMember(exact, 'content');
  const blocks = decodeContent(content, `${at}.content`, exactContent, role !== 'assistant');
  return { role, blocks, at, ...bag.keep(pickUnread(message, ['role', 'content'])) };
}

/** `fromUser`: the model did not write the content. */
function decodeContent(content: Wire.Content, at: string, exact: unknown, fromUser: boolean): Block[] {
  if (typeof content === 'string') return [{ type: 'text', text: content, at }];
  const unsealed = new UnsealedBlocks();
  for (const [index, block] of content.entries()) {
    const place = `${at}[${index}]`;
    if (Wire.isKnownBlock(block) && block.type === 'redacted_thinking' && unsealed.open(block.data, place))
      continue;
    if (isCrossedBlock(block)) continue;
    if (!Wire.isKnownBlock(block)) unsealed.add(decodeOther(block, place, fromUser));
    else
      for (const each of decodeBlocks(removeCrossedCitations(block), place, readMember(exact, index)))
        unsealed.add(each);
  }
  return unsealed.blocks;
}

function decodeOther(block: Fields, at: string, fromUser: boolean): Block {
  const summary = decodeSummary(block);
  return summary ? { ...summary, at } : keepForeign(block, at, fromUser);
}
