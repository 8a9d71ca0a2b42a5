/**
 * What a catalogue says about a model's chat-completions endpoint, in
 * `capabilities.wire["chat-completions"]`. Vendors differ here more than in any other protocol, and most of
 * them refuse a field they do not know.
 */
import { z } from 'zod';
import { createFlagReader, type Model } from '../../../core/index.ts';

export const chatFlagsSchema = z.strictObject({
  /** The name of the output limit. */
  outputLimitField: z.enum(['max_tokens', 'max_completion_tokens']).default('max_tokens'),
  /**
   * Whether the endpoint takes OpenAI's later additions: the developer role, custom tools, cache marks and
   * keys, verbosity, service tiers, metadata.
   */
  extras: z.boolean().default(false),
  /** OpenAI refuses tools here while some models reason; its responses endpoint takes them. */
  tools: z.enum(['always', 'unless-reasoning']).default('always'),
  /** The form of tool call ids: Mistral's models take exactly nine letters and digits. */
  callIds: z.enum(['any', 'nine']).default('any'),
  /** Renamed fields (Mistral's `random_seed`), and refused ones (null, as Mistral's `user`). */
  fields: z.record(z.string(), z.string().nullable()).default({}),
  /**
   * Whether the endpoint takes Mistral's short forms: a URL or data instead of the object that holds it, a
   * tool without its type, content without parts, and "any" for a tool that must be called.
   */
  shortForms: z.boolean().default(false),
  /**
   * When the model can be made to call a tool. DeepSeek's models, Qwen and Kimi cannot while they think, and
   * those of Z.AI never can. Kimi K3 always thinks, and can if the choice names no tool.
   */
  forcedTools: z.enum(['always', 'unnamed', 'without-thinking', 'never']).default('always'),
  /** Whether an answer to continue is refused without Mistral's `prefix`, and repeated in the reply. */
  prefix: z.boolean().default(false),
  /**
   * DeepSeek's thinking mode: a field of its own switches it off, and a request is refused if it omits what
   * the model thought before it called tools.
   */
  thinkingMode: z.boolean().default(false),
  /** Whether Alibaba's boolean `enable_thinking` turns thinking on and off. */
  enableThinking: z.boolean().default(false),
  /** Whether OpenAI's cache marks are taken. Other models refuse them. */
  cacheMarks: z.boolean().default(false),
});

export const chatFlags = createFlagReader('chat-completions', chatFlagsSchema);

/** Whether the provider refuses a request with this field, in its body or in a message. */
export function refuses({ capabilities }: Pick<Model, 'capabilities'>, field: string): boolean {
  return chatFlags(capabilities).fields[field] === null;
}
