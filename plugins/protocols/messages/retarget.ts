/**
 * The edits of the verbatim lane, made in the client's own bytes: the model by the vendor's name, our own `provider`
 * object out, and the output limit where it is lowered. Thinking has to stay below the limit, so its budget is lowered
 * with it; where no budget is left that the vendor would take, thinking is switched off.
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
    if (call.budget !== undefined && call.budget >= outputLimit) edits.push(lowered(outputLimit));
  }
  return edits;
}

function lowered(outputLimit: number): Edit {
  if (outputLimit <= leastBudget) return { path: ['thinking'], value: { type: 'disabled' } };
  return {
    path: ['thinking', 'budget_tokens'],
    value: Math.max(leastBudget, Math.floor((outputLimit * 3) / 4)),
  };
}
