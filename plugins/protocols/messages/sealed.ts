/**
 * Another vendor's sealed state in this wire's one slot for it, the `data` of a redacted_thinking block. State that
 * belongs to a block which stands before it says so in its envelope: to a tool call by its id, to the last thoughts
 * or the last text. Otherwise it is all there is of some reasoning.
 */
import type { Block, Opaque } from '../../../core/index.ts';
import { seal, unseal } from '../../shared/envelope.ts';

const mark = ' of ';
const ofCall = 'call ';

/** What the state belongs to, of the blocks before it. */
export type Owner = 'reasoning' | 'text' | { readonly call: string };

export function writeEnvelope(opaque: Opaque, owner: Owner | undefined): string {
  if (owner === undefined) return seal(opaque);
  return seal({ ...opaque, kind: opaque.kind + mark + (typeof owner === 'string' ? owner : ofCall + owner.call) });
}

/** Gives the state an envelope, which stood at `at`, holds back to the block it belongs to, among those before it. Answers whether it was one. */
export function openEnvelope(data: string, before: Block[], at: string): boolean {
  const sealed = unseal(data);
  if (!sealed) return false;
  const [kind = '', owner] = sealed.kind.split(mark, 2);
  const opaque = { ...sealed, kind };
  if (owner === undefined) {
    before.push({ type: 'reasoning', text: '', opaque: [opaque], at });
  } else {
    const block = ownerOf(owner, before);
    if (block) block.opaque = [...(block.opaque ?? []), opaque];
  }
  return true;
}

function ownerOf(owner: string, before: readonly Block[]): Extract<Block, { opaque?: unknown }> | undefined {
  if (owner.startsWith(ofCall)) return before.filter((block) => block.type === 'tool-call').find(({ id }) => id === owner.slice(ofCall.length));
  return owner === 'text' ? before.findLast((block) => block.type === 'text') : before.findLast((block) => block.type === 'reasoning');
}
