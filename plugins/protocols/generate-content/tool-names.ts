/**
 * Names that other protocols allow and Google does not. They are replaced by ones made of themselves, so that a
 * tool, its calls, their results and the model's reply all agree without anything being remembered.
 */
import { createHash } from 'node:crypto';
import type { Tool } from '../../../core/index.ts';

const goodName = /^[A-Za-z_][\w.:-]{0,63}$/;
const longestStem = 47;

/** The name itself where the wire takes it, else one like it that no other name leads to. */
export function fitName(name: string): string {
  if (goodName.test(name)) return name;
  const stem = name.replaceAll(/[^\w.:-]/g, '_').replace(/^(?![A-Za-z_])/, '_').slice(0, longestStem);
  return `${stem}_${createHash('sha256').update(name).digest('hex').slice(0, 16)}`;
}

/** A tool as the client asked for it. */
export interface AskedTool {
  readonly name: string;
  readonly custom: boolean;
}

/** By the name the vendor was given, the tools that were offered under another name, or as functions though they are not. */
export function offeredOtherwise(tools: readonly Tool[]): ReadonlyMap<string, AskedTool> {
  const asked = tools.flatMap((tool): [string, AskedTool][] => {
    if (tool.type === 'hosted') return [];
    const name = fitName(tool.name);
    const custom = tool.type === 'custom';
    return custom || name !== tool.name ? [[name, { name: tool.name, custom }]] : [];
  });
  return new Map(asked);
}
