/** A caller's choice among tools, as far as it is of tools that the model at hand is offered: vendors refuse any other. */
import type { CanonicalRequest } from '../../core/index.ts';
import type { Lose } from './losses.ts';

/** The tools a choice names that are there to be called; it is told as lost where one is not. */
export function offeredNames({ toolChoice, tools = [] }: CanonicalRequest, lose: Lose): readonly string[] {
  const names = toolChoice?.names ?? [];
  const offered = names.filter((name) => tools.some((tool) => tool.type !== 'hosted' && tool.name === name));
  if (offered.length < names.length) lose('toolChoice', 'it names a tool that the model is not offered');
  return offered;
}

/** For a request of which no tool is left: tells as lost that one was to be called. */
export function loseChoice({ toolChoice }: CanonicalRequest, lose: Lose): void {
  if (!toolChoice) return;
  const { mode, required = mode !== 'auto' && mode !== 'none' } = toolChoice;
  if (required) lose('toolChoice', 'the model is not offered what it is to choose from');
}
