/**
 * Why a candidate ended, in the words of all vendors: relays and compatible endpoints pass on the words of
 * others. A word that is not listed is `other`, which no client may take for a finished reply.
 */
import { finishReasons, type FinishReason } from '../../../core/index.ts';
import { splitNames } from '../wire-kit/vendor-bag.ts';

/** Cohere writes its words in upper case, and others as they like. Those in upper case here are exact. */
const words: Readonly<Partial<Record<FinishReason, string>>> = {
  // Together ends with `eos`, Hugging Face with `eos_token`, Cohere with `COMPLETE`.
  stop: 'stop end_turn eos eos_token complete',
  'stop-sequence': 'stop_sequence',
  // vLLM stops a model that repeats itself.
  length: 'length max_tokens max_output_tokens repetition',
  // Mistral's word, and Anthropic's.
  'context-length': 'model_length model_context_window_exceeded',
  'tool-calls': 'tool_calls function_call tool_use tool_call',
  // Z.AI's word, Bedrock's, and Cohere's. Google's endpoint for chat-completions sends its own.
  'content-filter': `
    content_filter sensitive content_filtered guardrail_intervened error_toxic SAFETY RECITATION BLOCKLIST
    PROHIBITED_CONTENT SPII IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION MODEL_ARMOR JAILBREAK
  `,
  refusal: 'refusal',
  pause: 'pause_turn CONTINUATION',
  // OpenRouter: the provider failed. Z.AI: its network did. DeepSeek: it is out of capacity. vLLM: it aborted
  // the request. Bedrock: the model wrote no valid call or reply. Google: those in upper case.
  error: `
    error network_error insufficient_system_resource abort aborted cancelled timeout error_limit
    malformed_tool_use malformed_model_output function_call_filter LANGUAGE OTHER MALFORMED_FUNCTION_CALL
    MALFORMED_RESPONSE MISSING_THOUGHT_SIGNATURE UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS IMAGE_OTHER NO_IMAGE
  `,
};

const reasons: ReadonlyMap<string, FinishReason> = new Map(
  finishReasons.flatMap((reason) =>
    [...splitNames(words[reason] ?? '')].map((word) => [word, reason] as const),
  ),
);

/** The word that a reply ends with. A reason that is no text is no ordinary end. */
export function readWord(reason: unknown): string | undefined {
  if (reason === null || reason === undefined || reason === '') return undefined;
  return typeof reason === 'string' ? reason : JSON.stringify(reason);
}

/** Reads a word. Google's endpoint for chat-completions explains its own: `content_filter: RECITATION`. */
export function readFinish(raw: string): FinishReason {
  const [word = ''] = raw.split(':');
  return reasons.get(word) ?? reasons.get(word.toLowerCase()) ?? 'other';
}

const replacedByCalls: ReadonlySet<FinishReason> = new Set(['stop', 'stop-sequence', 'tool-calls']);

/** What the reply shows of its calls. */
export interface CallsSeen {
  readonly any: boolean;
  /** Whether the arguments of a call break off. */
  readonly cut?: boolean;
}

/**
 * Corrects a reason by the reply's calls, which decide whether tools were called: some vendors report "stop"
 * together with calls, or announce calls and send none. A cut or filtered reply keeps its reason, because a
 * call in it may be incomplete, and a call that breaks off was cut, whatever the vendor says.
 */
export function considerCalls(reason: FinishReason, { any, cut = false }: CallsSeen): FinishReason {
  if (!any) return reason === 'tool-calls' ? 'stop' : reason;
  if (!replacedByCalls.has(reason)) return reason;
  return cut ? 'length' : 'tool-calls';
}
