/**
 * Names and ids that other protocols allow and this wire does not. They are replaced by ones made of themselves, so
 * that a tool, its calls, their results and the model's reply all agree without anything being remembered.
 */
import { createHash } from 'node:crypto';
import type { Tool } from '../../../core/index.ts';

const longest = 128;
const goodName = /^[A-Za-z0-9_-]{1,128}$/;
const goodId = /^[A-Za-z0-9_-]+$/;

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** The name itself where the wire takes it, else one like it that no other name leads to. */
export function fitName(name: string): string {
  return goodName.test(name) ? name : `${name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, longest - 17)}_${digest(name)}`;
}

/** The id itself where the wire takes it, for the call and for its result. */
export function fitCallId(id: string): string {
  return goodId.test(id) ? id : `toolu_${digest(id)}`;
}

/** An id for a call whose vendor gave none; passed the id of the reply, and which block of it the call is. */
export function makeCallId(reply: string, block: number): string {
  return `toolu_${digest(JSON.stringify([reply, block]))}`;
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
