/** What encoders of other protocols have to know of OpenAI's, to report what only they have. */
import { describeProtocol } from '../wire-kit/foreign-fields.ts';
import { splitNames } from '../wire-kit/vendor-bag.ts';

/** OpenAI's limit for the calls of all hosted tools of a request, which responses has. */
export const callLimit = 'max_tool_calls';

const words = ['auto', 'disabled', 'none', 'required'];

export function describeOpenaiProtocol(name: string): void {
  describeProtocol(name, {
    partly: splitNames(`
      allowed_tools cache_control custom file function image_url input_audio item namespace
      prompt_cache_breakpoint reasoning response_format stream_options text thinking
    `),
    collections: splitNames('annotations context_management logit_bias'),
    switches: splitNames('store'),
    // Padding against eavesdroppers.
    isHarmless: (field) => field === 'include_obfuscation',
    reasoningDetails: splitNames('type id index format reasoning reasoning_content closed'),
    decisive: {
      truncation: words,
      tool_choice: words,
      function_call: words,
      'response_format.type': [],
      'text.format.type': [],
    },
    painter: { type: 'image_generation', choice: 'tool_choice' },
    callLimit,
    compactionItem: 'compaction_trigger',
    isIndispensable: ({ value }) => value.type === 'file_search',
  });
}
