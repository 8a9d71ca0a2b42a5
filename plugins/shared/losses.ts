/** What an encoder could not say, noted down while it works. */
import type { CanonicalEvent, Loss, LossCode, ReplyContext } from '../../core/index.ts';

/** Passed the canonical path of what is lost, why in a few words, and what kind of loss it is where the wire is not to blame. */
export type Lose = (path: string, reason: string, code?: LossCode) => void;

/** A list of losses, and how to add to it. */
export function noteLosses(): { readonly losses: Loss[]; readonly lose: Lose } {
  const losses: Loss[] = [];
  return { losses, lose: (path, reason, code = 'unsupported') => void losses.push({ path, reason, code }) };
}

/** What a vendor says of the whole reply that a caller may need; the rest is about its account, or repeats the request. */
const ofReplies: ReadonlySet<string> = new Set(['moderation', 'container', 'context_management']);

/** Tells as lost what another wire's vendor said of a reply as such, and nobody else has a word for. */
export function loseForeignStart({ lost }: Pick<ReplyContext, 'lost'>, { vendor = {} }: Extract<CanonicalEvent, { type: 'response-start' }>, protocol: string): void {
  for (const [owner, fields] of Object.entries(vendor)) {
    if (owner === protocol) continue;
    for (const name of Object.keys(fields)) if (ofReplies.has(name)) lost?.(name, `only ${owner} has it`);
  }
}

/** Fields of a candidate's end that are not lost: annotations, or the cost of the call, say the same. */
const toldElsewhere = new Set(['groundingMetadata', 'citationMetadata', 'service_tier']);

/** Tells as lost what another wire's vendor said of a candidate at its end, and nobody else has a word for. */
export function loseForeign({ lost }: { readonly lost?: ReplyContext['lost'] | undefined }, { vendor = {} }: Extract<CanonicalEvent, { type: 'finish' }>, protocol: string): void {
  for (const [owner, fields] of Object.entries(vendor)) {
    if (owner === protocol) continue;
    for (const name of Object.keys(fields)) if (!toldElsewhere.has(name)) lost?.(name, `only ${owner} has it`);
  }
}
