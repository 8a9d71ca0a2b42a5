/**
 * The edits of the verbatim lane, spliced into the client's own text: the model by the vendor's name, our own
 * `provider` object out, usage asked for in every stream since it is what we charge by, and the output limit under
 * the one name this model takes. A limit that stands under both names goes on under that one, the lesser of them.
 */
import { splice, type Edit, type Retarget } from '../../../core/index.ts';
import { ChatCall, limitFields } from './read-request.ts';

export function retarget(text: string, { call, model, outputLimit, capabilities }: Retarget): string {
  const limit = outputLimit ?? call.outputLimit;
  const edits: Edit[] = [
    { path: ['model'], value: model },
    { path: ['provider'], value: undefined },
  ];
  if (call.stream) edits.push({ path: ['stream_options', 'include_usage'], value: true });
  for (const field of limitFields) {
    const stated = call instanceof ChatCall ? call.limits[field] : undefined;
    const wanted = field === capabilities.outputLimitField ? limit : undefined;
    if (stated !== wanted) edits.push({ path: [field], value: wanted });
  }
  return splice(text, edits);
}
