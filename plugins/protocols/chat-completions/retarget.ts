/**
 * The edits of a request that is passed on verbatim. The model gets the provider's name, and our `provider`
 * object is removed. Every stream asks for usage, which we charge by, unless the provider refuses the field
 * and reports usage anyway. The output limit gets the name that the model takes; if the client uses both
 * names, the lower limit counts.
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
