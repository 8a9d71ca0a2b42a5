/** What an encoder could not say, noted down while it works. */
import type { Loss, LossCode } from '../../core/index.ts';

/** Passed the canonical path of what is lost, why in a few words, and what kind of loss it is where the wire is not to blame. */
export type Lose = (path: string, reason: string, code?: LossCode) => void;

/** A list of losses, and how to add to it. */
export function noteLosses(): { readonly losses: Loss[]; readonly lose: Lose } {
  const losses: Loss[] = [];
  return { losses, lose: (path, reason, code = 'unsupported') => void losses.push({ path, reason, code }) };
}
