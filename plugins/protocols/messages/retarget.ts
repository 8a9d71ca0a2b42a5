/**
 * Edits the client's own bytes on the verbatim lane: sets the provider's model name, removes the `provider`
 * object, and lowers the output limit. Thinking must stay below the limit, so its budget is lowered too. If
 * the budget would be less than the vendor accepts, thinking is disabled.
 */
import type { Edit, Retarget } from '../../../core/index.ts';
import { MessagesCall } from './read-request.ts';
import { leastBudget } from './thinking.ts';

export function retarget({ call, model, outputLimit }: Retarget): readonly Edit[] {
  const edits: Edit[] = [{ path: ['model'], value: model }];
  if (call instanceof MessagesCall && call.namesProvider)
    edits.push({ path: ['provider'], value: undefined });
  const isCall = call instanceof MessagesCall && !call.isCount;
  if (isCall && outputLimit !== undefined && outputLimit !== call.outputLimit) {
    edits.push({ path: ['max_tokens'], value: outputLimit });
    if (call.budget !== undefined && call.budget >= outputLimit) edits.push(lowerBudget(outputLimit));
  }
  return edits;
}

function lowerBudget(outputLimit: number): Edit {
  if (outputLimit <= leastBudget) return { path: ['thinking'], value: { type: 'disabled' } };
  return {
    path: ['thinking', 'budget_tokens'],
    value: Math.max(leastBudget, Math.floor((outputLimit * 3) / 4)),
  };
}
