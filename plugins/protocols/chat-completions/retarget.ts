/**
 * The edits of the verbatim lane, made in the client's own bytes: the model by the vendor's name, our own
 * `provider` object out, usage asked for in every stream since it is what we charge by (unless it is told unasked, and
 * the question refused), and the output limit under the one name this model takes. A limit that stands under both
 * names goes on under that one, the lesser of them.
 */
import type { Edit, Retarget } from '../../../core/index.ts';
import { chatFlags } from '../../shared/wire-kit/chat-flags.ts';
import { refuses } from './fields.ts';
import { ChatCall, limitFields } from './read-request.ts';

export function retarget({ call, model, outputLimit, capabilities }: Retarget): readonly Edit[] {
  const limit = outputLimit ?? call.outputLimit;
  const edits: Edit[] = [
    { path: ['model'], value: model },
    { path: ['provider'], value: undefined },
  ];
  if (call.stream)
    edits.push(
      refuses({ capabilities }, 'stream_options')
        ? { path: ['stream_options'], value: undefined }
        : { path: ['stream_options', 'include_usage'], value: true },
    );
  for (const field of limitFields) {
    const stated = call instanceof ChatCall ? call.limits[field] : undefined;
    const wanted = field === chatFlags(capabilities).outputLimitField ? limit : undefined;
    if (stated !== wanted) edits.push({ path: [field], value: wanted });
  }
  return edits;
}
