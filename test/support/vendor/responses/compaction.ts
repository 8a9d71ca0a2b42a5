/**
 * Compaction as OpenAI does it: by the last item of a response's input, or by a path of its own. The item is
 * accepted back only if this vendor made it.
 */
import { complain, type Complaint } from '../chat-completions/refusals.ts';
import type { Seals } from '../seal.ts';
import type { Speech } from '../speech.ts';
import type { Composition } from './composition.ts';
import type { InputItem } from './items.ts';
import type { ItemGroup } from './output.ts';
import type { CountRequest } from './request.ts';

const prefix = 'gAAAAAB';
const kind = 'compaction';

export function asksForCompaction({ input }: CountRequest): boolean {
  return Array.isArray(input) && input.at(-1)?.type === 'compaction_trigger';
}

/** The item, and the events between its beginning and its end. */
export function buildCompaction({ text = [] }: Speech, id: string, seals: Seals): ItemGroup {
  const item = { id, type: kind, encrypted_content: prefix + seals.seal(kind, '', 'base64url') };
  const step = { type: 'response.compaction.compacting', data: {}, item: 0 };
  return {
    items: [{ id, start: item, whole: item }],
    events: text.map(() => ({ ...step, tokens: 1 })),
  };
}

export function checkCompactions(items: readonly InputItem[], seals: Seals): Complaint | undefined {
  const early = items.slice(0, -1).findIndex(({ type }) => type === 'compaction_trigger');
  if (early >= 0)
    return complain("Invalid 'input': a compaction trigger has to be the final item.", `input[${early}]`);
  const isHeld = (content: string): boolean =>
    seals.vouches(content) ||
    (content.startsWith(prefix) && seals.holds(content.slice(prefix.length), kind, '', 'base64url'));
  const foreign = items.find((item) => item.type === kind && !isHeld(item.encrypted_content));
  return foreign
    ? complain('The encrypted content could not be verified.', null, 'invalid_encrypted_content')
    : undefined;
}

/** The reply of the path: the user's messages, and the compaction. */
export function toCompacted({ request: { input }, finished, groups }: Composition): object {
  const { id, created_at: created, usage } = finished;
  const items: readonly object[] =
    typeof input === 'string' ? [{ role: 'user', content: input }] : (input ?? []);
  const messages = items
    .filter((item) => 'role' in item && item.role === 'user')
    .map((item, index) => ({ ...item, type: 'message', id: `msg_kept${index}`, status: 'completed' }));
  const made = groups.flatMap((group) => group.items.map(({ whole }) => whole));
  return { id, object: 'response.compaction', created_at: created, output: [...messages, ...made], usage };
}
