/**
 * Tools that a wire cannot be given as the client named them, or at all: they are offered under a name made of their
 * own, or as functions, and the reply's calls find back to what was asked. Nothing has to be remembered for it.
 */
import { createHash } from 'node:crypto';
import type { Tool } from '../../core/index.ts';

const digestLength = 16;

export function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digestLength);
}

/** What a wire takes for a name: as a whole, and character by character. */
export interface NameRule {
  readonly good: RegExp;
  readonly strange: RegExp;
  readonly longest: number;
}

/** The name itself where the wire takes it, else one like it that no other name leads to. */
export function fitByRule(name: string, { good, strange, longest }: NameRule): string {
  return good.test(name) ? name : `${name.replaceAll(strange, '_').slice(0, longest - digestLength - 1)}_${digest(name)}`;
}

/** A tool as the client asked for it. */
export interface AskedTool {
  readonly name: string;
  readonly custom: boolean;
}

/** By the name the vendor was given, the tools that were offered under another name, or as functions though they are not. */
export function offeredOtherwise(tools: readonly Tool[], fitName: (name: string) => string): ReadonlyMap<string, AskedTool> {
  const asked = tools.flatMap((tool): [string, AskedTool][] => {
    if (tool.type === 'hosted') return [];
    const name = fitName(tool.name);
    const custom = tool.type === 'custom';
    return custom || name !== tool.name ? [[name, { name: tool.name, custom }]] : [];
  });
  return new Map(asked);
}
