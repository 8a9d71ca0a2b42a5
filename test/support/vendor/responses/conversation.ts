/**
 * The rules of a conversation in items: a call has its output and an output its call, a reasoning item has
 * what it led to, a call made after reasoning has that, and encrypted content is the vendor's own, for that
 * very item.
 */
import { complain, type Complaint } from '../chat-completions/refusals.ts';
import type { Seals } from '../seal.ts';
import { checkCompactions } from './compaction.ts';
import { checkEncryption } from './encryption.ts';
import type { InputItem } from './items.ts';
import type { CountRequest } from './request.ts';

/** What the vendor remembers of items it handed out. */
export interface Memory {
  /** Whether it kept the item, as it does unless `store` is false. */
  readonly stored: boolean;
  /** The reasoning item it came after. */
  readonly reasoning?: string;
}

export interface Judge {
  readonly seals: Seals;
  readonly memory: ReadonlyMap<string, Memory>;
}

const answers: Readonly<Record<string, string>> = {
  function_call: 'function_call_output',
  custom_tool_call: 'custom_tool_call_output',
  local_shell_call: 'local_shell_call_output',
};
const callWords: Readonly<Record<string, string>> = {
  function_call: 'function call',
  custom_tool_call: 'custom tool call',
  local_shell_call: 'local shell call',
};

function getType(item: InputItem): string {
  return item.type ?? 'message';
}

function getCallId(item: InputItem): string | undefined {
  if (item.type === 'local_shell_call_output') return item.id;
  return 'call_id' in item ? item.call_id : undefined;
}

function checkPairs(items: readonly InputItem[]): Complaint | undefined {
  const listIds = (type: string): (string | undefined)[] =>
    items.flatMap((item) => (getType(item) === type ? [getCallId(item)] : []));
  for (const [call, output] of Object.entries(answers)) {
    const [called, answered] = [listIds(call), listIds(output)];
    const words = callWords[call] ?? call;
    const orphan = answered.find((id) => !called.includes(id));
    if (orphan !== undefined)
      return complain(`No tool call found for ${words} output with call_id ${orphan}.`, 'input');
    const open = called.find((id) => !answered.includes(id));
    if (open !== undefined) return complain(`No tool output found for ${words} ${open}.`, 'input');
    const early = items.find(
      (item, place) =>
        getType(item) === output &&
        !items
          .slice(0, place)
          .some((before) => getType(before) === call && getCallId(before) === getCallId(item)),
    );
    if (early)
      return complain(`No tool call found for ${words} output with call_id ${getCallId(early)}.`, 'input');
    const twice = called.find((id, place) => called.indexOf(id) < place);
    if (twice !== undefined) return complain(`Duplicate ${words} with call_id ${twice}.`, 'input');
  }
  return undefined;
}

/** What may follow a reasoning item: what the model said or did, or another one. */
const outcomes = new Set([
  'message',
  'reasoning',
  'function_call',
  'custom_tool_call',
  'web_search_call',
  'image_generation_call',
  'code_interpreter_call',
  'local_shell_call',
]);

function checkReasoningFollowed(items: readonly InputItem[]): Complaint | undefined {
  for (const [place, item] of items.entries()) {
    if (item.type !== 'reasoning') continue;
    const next = items[place + 1];
    const followed =
      next !== undefined && outcomes.has(getType(next)) && !('role' in next && next.role !== 'assistant');
    if (!followed)
      return complain(
        `Item '${item.id ?? place}' of type 'reasoning' was provided without its ` +
          'required following item.',
        'input',
      );
  }
  return undefined;
}

function checkReasoningKept(items: readonly InputItem[], { memory }: Judge): Complaint | undefined {
  const given = new Set(items.flatMap((item) => ('id' in item && item.id ? [item.id] : [])));
  for (const item of items) {
    const id = 'id' in item ? item.id : undefined;
    const needed = id ? memory.get(id)?.reasoning : undefined;
    if (!needed || given.has(needed)) continue;
    return complain(
      `Item '${id}' of type '${getType(item)}' was provided without its required 'reasoning' ` +
        `item: '${needed}'.`,
      'input',
    );
  }
  return undefined;
}

function checkEncryptedContent(items: readonly InputItem[], { seals, memory }: Judge): Complaint | undefined {
  for (const item of items) {
    if (item.type !== 'reasoning') continue;
    const content = item.encrypted_content;
    const fault = content ? checkEncryption(content, item.id, seals) : undefined;
    if (fault) {
      const shown = `${content?.slice(0, 4)}...${content?.slice(-4)}`;
      return complain(
        `The encrypted content ${shown} could not be verified. Reason: ${fault}`,
        null,
        'invalid_encrypted_content',
      );
    }
    if (content || !item.id || memory.get(item.id)?.stored) continue;
    const message =
      `Item with id '${item.id}' not found. Items are not persisted when \`store\` is set to false. ` +
      'Try again with `store` set to true, or remove this item from your input.';
    return complain(message, 'input');
  }
  return undefined;
}

function checkReferences(items: readonly InputItem[], { memory }: Judge): Complaint | undefined {
  const lost = items.find((item) => item.type === 'item_reference' && !memory.get(item.id)?.stored);
  return lost && 'id' in lost ? complain(`Item with id '${lost.id}' not found.`, 'input') : undefined;
}

/** An image or file part that has no medium, or a message without a part that says anything. */
function checkEmptiness(items: readonly InputItem[]): Complaint | undefined {
  for (const [place, item] of items.entries()) {
    const parts =
      'content' in item && Array.isArray(item.content)
        ? item.content
        : 'output' in item && Array.isArray(item.output)
          ? item.output
          : [];
    for (const [position, part] of parts.entries()) {
      const at = `input[${place}].content[${position}]`;
      if (part.type === 'input_image' && !part.image_url && !part.file_id)
        return complain(
          `Missing required parameter: '${at}.image_url'.`,
          `${at}.image_url`,
          'missing_required_parameter',
        );
      if (part.type !== 'input_file') continue;
      if (!part.file_data && !part.file_url && !part.file_id)
        return complain(
          `Missing required parameter: '${at}.file_id'.`,
          `${at}.file_id`,
          'missing_required_parameter',
        );
      if (part.file_data && !part.filename)
        return complain(
          `Missing required parameter: '${at}.filename'.`,
          `${at}.filename`,
          'missing_required_parameter',
        );
    }
  }
  return undefined;
}

/** The first thing wrong with a conversation. */
export function checkConversation({ input }: CountRequest, judge: Judge): Complaint | undefined {
  if (!Array.isArray(input)) return undefined;
  return (
    checkReferences(input, judge) ??
    checkEncryptedContent(input, judge) ??
    checkReasoningFollowed(input) ??
    checkReasoningKept(input, judge) ??
    checkPairs(input) ??
    checkCompactions(input, judge.seals) ??
    checkEmptiness(input)
  );
}
