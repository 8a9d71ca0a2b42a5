/**
 * The rules of a conversation: every `tool_use` is answered in the message right after it, results come first
 * there, reasoning returns unchanged, texts are not empty. Gateways that merge, reorder or drop turns break
 * these.
 */
import type { Seals } from '../seal.ts';
import type { ClaudeFacts } from './models.ts';
import type { Block, CountRequest, Message } from './request.ts';

export interface Turn {
  readonly role: Message['role'];
  readonly blocks: readonly Block[];
  /** Where it began in the request. */
  readonly place: number;
}

/** Messages of one role that follow each other are one turn. */
export function groupTurns(messages: readonly Message[]): Turn[] {
  const turns: { role: Message['role']; blocks: Block[]; place: number }[] = [];
  for (const [place, { role, content }] of messages.entries()) {
    const blocks: Block[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    const last = turns.at(-1);
    if (last?.role === role) last.blocks.push(...blocks);
    else turns.push({ role, blocks: [...blocks], place });
  }
  return turns;
}

function checkEmptiness(messages: readonly Message[]): string | undefined {
  for (const [place, { role, content }] of messages.entries()) {
    const last = place === messages.length - 1;
    if (content.length === 0 && !(last && role === 'assistant')) {
      return (
        `messages.${place}: all messages must have non-empty content except ` +
        'for the optional final assistant message'
      );
    }
    const parts = typeof content === 'string' ? [] : content;
    const nested = parts.flatMap((block) =>
      block.type === 'tool_result' && typeof block.content === 'object' ? block.content : [],
    );
    for (const block of [...parts, ...nested]) {
      if (block.type !== 'text') continue;
      if (block.text === '') return 'messages: text content blocks must be non-empty';
      if (!block.text.trim()) return 'messages: text content blocks must contain non-whitespace text';
    }
    if (typeof content === 'string' && content !== '' && !content.trim())
      return 'messages: text content blocks must contain non-whitespace text';
  }
  return undefined;
}

function listCallIds({ blocks }: Turn): string[] {
  return blocks.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
}

function checkPairing(turns: readonly Turn[]): string | undefined {
  const seen = new Set<string>();
  for (const [index, turn] of turns.entries()) {
    const before = turns[index - 1];
    const requests = before?.role === 'assistant' ? listCallIds(before) : [];
    const answered = turn.blocks.flatMap((block) =>
      block.type === 'tool_result' ? [block.tool_use_id] : [],
    );
    const missing = requests.filter((id) => !answered.includes(id));
    if (missing.length) return describeUnanswered(before?.place ?? 0, missing);
    for (const [position, id] of answered.entries()) {
      if (!requests.includes(id)) return describeOrphan(turn.place, position, id);
      if (answered.indexOf(id) < position)
        return (
          `messages.${turn.place}.content.${position}: each tool_use must have a single result. ` +
          `Found multiple \`tool_result\` blocks with id: ${id}`
        );
    }
    const lastResult = turn.blocks.findLastIndex((block) => block.type === 'tool_result');
    if (turn.blocks.slice(0, lastResult + 1).some((block) => block.type !== 'tool_result')) {
      return (
        `messages.${turn.place}: \`tool_result\` blocks must come first in the content ` +
        'of the message that answers `tool_use` blocks'
      );
    }
    for (const id of listCallIds(turn)) {
      if (seen.has(id)) return `messages.${turn.place}: \`tool_use\` ids must be unique`;
      seen.add(id);
    }
  }
  const last = turns.at(-1);
  const open = last ? listCallIds(last) : [];
  return last && open.length ? describeUnanswered(last.place, open) : undefined;
}

function describeUnanswered(place: number, ids: readonly string[]): string {
  return (
    `messages.${place}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ` +
    `${ids.join(', ')}. ` +
    'Each `tool_use` block must have a corresponding `tool_result` block in the next message.'
  );
}

function describeOrphan(place: number, position: number, id: string): string {
  return (
    `messages.${place}.content.${position}: ` +
    `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. ` +
    'Each `tool_result` block must have a corresponding `tool_use` block in the previous message.'
  );
}

function checkFailedResults(messages: readonly Message[]): string | undefined {
  for (const [place, { content }] of messages.entries()) {
    if (typeof content === 'string') continue;
    for (const [position, block] of content.entries()) {
      const bad =
        block.type === 'tool_result' &&
        block.is_error &&
        Array.isArray(block.content) &&
        block.content.some(({ type }) => type !== 'text');
      if (bad)
        return (
          `messages.${place}.content.${position}.tool_result: ` +
          'all content must be type `text` if `is_error` is true'
        );
    }
  }
  return undefined;
}

function checkSignatures(messages: readonly Message[], seals: Seals): string | undefined {
  for (const [place, { content }] of messages.entries()) {
    if (typeof content === 'string') continue;
    for (const [position, block] of content.entries()) {
      const at = `messages.${place}.content.${position}`;
      if (block.type === 'thinking' && !seals.holds(block.signature, 'thinking', block.thinking, 'base64'))
        return `${at}: Invalid \`signature\` in \`thinking\` block`;
      if (block.type === 'redacted_thinking' && !seals.holds(block.data, 'redacted', '', 'base64'))
        return `${at}: Invalid \`data\` in \`redacted_thinking\` block`;
    }
  }
  return undefined;
}

/**
 * With a reasoning budget, a tool loop continues from its reasoning: its last assistant turn begins with it.
 */
function checkLeadingThoughts(turns: readonly Turn[], { thinking }: CountRequest): string | undefined {
  if (thinking?.type !== 'enabled') return undefined;
  const last = turns.at(-1);
  const before = turns.at(-2);
  const looping = last?.role === 'user' && last.blocks.some(({ type }) => type === 'tool_result');
  const first = before?.blocks[0]?.type;
  if (!looping || before?.role !== 'assistant' || first === 'thinking' || first === 'redacted_thinking')
    return undefined;
  return (
    `messages.${before.place}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, ` +
    `but found \`${first}\`. When \`thinking\` is enabled, ` +
    'a final `assistant` message must start with a thinking block (preceding the lastmost set ' +
    'of `tool_use` and `tool_result` blocks).'
  );
}

function checkEnds(turns: readonly Turn[], request: CountRequest, facts: ClaudeFacts): string | undefined {
  const [first] = turns;
  const last = turns.at(-1);
  if (first?.role !== 'user') return 'messages: first message must use the "user" role';
  if (last?.role !== 'assistant') return undefined;
  const end = last.blocks.at(-1);
  if (!facts.prefill || (request.thinking && request.thinking.type !== 'disabled')) {
    return (
      'This model does not support assistant message prefill. ' +
      'The conversation must end with a user message.'
    );
  }
  if (end?.type === 'text' && /\s$/.test(end.text))
    return 'messages: final assistant content cannot end with trailing whitespace';
  return undefined;
}

/** Whether an answer ends with a tool that Anthropic itself ran. */
function endsWithServerTool({ role, content }: Message): boolean {
  const last = Array.isArray(content) ? content.at(-1) : undefined;
  return role === 'assistant' && last !== undefined && /^(server_|\w+_tool_result$)/.test(last.type);
}

function checkSystemTurns(messages: readonly Message[], { midSystem }: ClaudeFacts): string | undefined {
  for (const [place, { role }] of messages.entries()) {
    if (role !== 'system') continue;
    if (!midSystem) return `messages.${place}.role: Input should be 'user' or 'assistant'`;
    const before = messages[place - 1];
    const after = messages[place + 1];
    if (before?.role !== 'user' && !(before && endsWithServerTool(before)))
      return `messages.${place}: role 'system' must follow a 'user' message`;
    if (after && after.role !== 'assistant')
      return `messages.${place}: role 'system' must precede an 'assistant' message or end the array`;
  }
  return undefined;
}

/** The first thing wrong with a conversation. */
export function checkConversation(
  request: CountRequest,
  facts: ClaudeFacts,
  seals: Seals,
): string | undefined {
  const { messages } = request;
  const turns = groupTurns(messages.filter(({ role }) => role !== 'system'));
  return (
    checkSystemTurns(messages, facts) ??
    checkEmptiness(messages) ??
    checkPairing(turns) ??
    checkFailedResults(messages) ??
    checkSignatures(messages, seals) ??
    checkLeadingThoughts(turns, request) ??
    checkEnds(turns, request, facts)
  );
}
