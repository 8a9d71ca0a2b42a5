/**
 * Tools that a wire does not take as the client named or defined them. They are offered under a name made from their
 * own, or as functions; the calls in the reply are translated back. Both follow from the request alone, so nothing has
 * to be remembered.
 */
import { createHash } from 'node:crypto';
import type { Tool } from '../../../core/index.ts';

const digestLength = 16;

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digestLength);
}

/** Which names a wire takes: a pattern for the whole name, and one for characters it does not take. */
export interface NameRule {
  readonly good: RegExp;
  readonly strange: RegExp;
  readonly longest: number;
}

/** The name itself where the wire takes it, or else a similar one that no other name becomes. */
export function fitByRule(name: string, { good, strange, longest }: NameRule): string {
  return good.test(name)
    ? name
    : `${name.replaceAll(strange, '_').slice(0, longest - digestLength - 1)}_${digest(name)}`;
}

/** A tool as the client asked for it. */
export interface AskedTool {
  readonly name: string;
  readonly custom: boolean;
}

/** The tools that are offered under another name, or as functions although they are not, by the name that the vendor was given. */
export function offeredOtherwise(
  tools: readonly Tool[],
  fitName: (name: string) => string,
): ReadonlyMap<string, AskedTool> {
  const asked = tools.flatMap((tool): [string, AskedTool][] => {
    if (tool.type === 'hosted') return [];
    const name = fitName(tool.name);
    const custom = tool.type === 'custom';
    return custom || name !== tool.name ? [[name, { name: tool.name, custom }]] : [];
  });
  return new Map(asked);
}
