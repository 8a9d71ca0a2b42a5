/** Limits a caller's choice of tools to those that are offered to the model: vendors refuse a choice of any other. */
import type { CanonicalRequest } from '../../../core/index.ts';
import type { Lose } from './losses.ts';

/** The names of chosen tools that are offered. The others are told as lost. */
export function offeredNames({ toolChoice, tools = [] }: CanonicalRequest, lose: Lose): readonly string[] {
  const names = toolChoice?.names ?? [];
  const offered = names.filter((name) => tools.some((tool) => tool.type !== 'hosted' && tool.name === name));
  if (offered.length < names.length) lose('toolChoice', 'it names a tool that the model is not offered');
  return offered;
}

/** Where no tool is left in a request: tells the choice as lost, if one had to be called. */
export function loseChoice({ toolChoice }: CanonicalRequest, lose: Lose): void {
  if (!toolChoice) return;
  const { mode, required = mode !== 'auto' && mode !== 'none' } = toolChoice;
  if (required) lose('toolChoice', 'the model is not offered what it is to choose from');
}
