/**
 * Another vendor's sealed state in this wire's one slot for it, the `data` of a redacted_thinking block. State that
 * belongs to no reasoning but to a tool call or a text says so in its envelope: by the call's id, or as the text
 * before it.
 */
import type { Block, Opaque } from '../../../core/index.ts';
import { seal, unseal } from '../../shared/envelope.ts';
import { nativeVendor } from './bag.ts';

const mark = ' of ';
const ofText = 'text';
const ofCall = 'call ';

/** Passed the state, and whose it is if not the reasoning's. */
export function writeEnvelope(opaque: Opaque, owner: { readonly kind: string; readonly id?: string | undefined }): string {
  if (owner.kind === 'tool-call') return seal({ ...opaque, kind: opaque.kind + mark + ofCall + (owner.id ?? '') });
  return seal(owner.kind === 'text' ? { ...opaque, kind: opaque.kind + mark + ofText } : opaque);
}

/** Gives the state an envelope holds back to the block it belongs to, among those before it. Answers whether it was one. */
export function openEnvelope(data: string, before: Block[]): boolean {
  const sealed = unseal(data);
  if (!sealed) return false;
  const [kind = '', owner] = sealed.kind.split(mark, 2);
  const opaque = { ...sealed, kind };
  const place = ownerOf(owner, before);
  if (place) place.opaque = [...(place.opaque ?? []), opaque];
  else if (owner === undefined) before.push({ type: 'reasoning', text: '', opaque: [opaque] });
  return true;
}

/** Reasoning is told first and sealed behind; what is sealed by its own vendor already is another's. */
function ownerOf(owner: string | undefined, before: readonly Block[]): Extract<Block, { opaque?: unknown }> | undefined {
  if (owner?.startsWith(ofCall)) return before.filter((block) => block.type === 'tool-call').find(({ id }) => id === owner.slice(ofCall.length));
  if (owner === ofText) return before.findLast((block) => block.type === 'text');
  const last = before.at(-1);
  return last?.type === 'reasoning' && !last.opaque?.some(({ vendor }) => vendor === nativeVendor) ? last : undefined;
}
