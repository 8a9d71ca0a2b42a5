/**
 * The model list that Codex asks for. It reads `models`, ignores `data`, and refuses the whole list if an
 * entry lacks one of eleven fields. Without an entry it takes a model for one of OpenAI's, with other tools
 * and a context of its own guess.
 */
import type { Model } from '../../../core/index.ts';
import { readOwner } from '../../shared/wire-kit/fit-to-model.ts';
import { efforts } from '../../shared/wire-kit/reasoning-effort.ts';

/** Codex requires some, and uses them in place of its own, which a gateway cannot ask for. */
const instructions =
  'You are a coding agent. You and the user share one workspace and one terminal.\n\n' +
  '- Work until the task is done. Look at the files before you change them, and follow the style and the ' +
  'instructions that you find there (AGENTS.md).\n' +
  '- Change no more than the task needs. Keep changes that are not yours; never reset or delete work that ' +
  'nobody asked you to.\n' +
  '- Edit files with the tool `apply_patch` if there is one, else with small edits by the shell.\n' +
  '- Prefer `rg` for searches. Call several tools at once if they do not depend on each other.\n' +
  '- Check what you did by the tests or commands of the project, and say what you could not check.\n' +
  '- Answer briefly and plainly: what you did, where, and what is left. Name files as `path:line`.';

/** The share of the context that a conversation fills before Codex sums it up. */
const compactedAt = 0.8;
/** Tokens of a tool's output that Codex shows to the model. */
const longestOutput = 10_000;

const knownEfforts: readonly string[] = efforts.map(({ name }) => name);

function listEfforts({ capabilities: { reasoning } }: Model): readonly string[] {
  const { style, efforts: stated, canDisable } = reasoning;
  if (style === 'none') return [];
  if (stated) return stated.filter((name) => knownEfforts.includes(name));
  return style === 'toggle' && canDisable ? ['none', 'medium'] : ['low', 'medium', 'high'];
}

function describeEntry(model: Model, index: number): Record<string, unknown> {
  const { id, name, description, contextLength, input, capabilities } = model;
  const levels = listEfforts(model);
  const { default: wanted = 'medium' } = capabilities.reasoning;
  return {
    slug: id,
    display_name: name,
    description,
    supported_reasoning_levels: levels.map((effort) => ({ effort, description: '' })),
    default_reasoning_level: levels.find((effort) => effort === wanted) ?? levels[0] ?? null,
    supports_reasoning_summaries: levels.length > 0,
    shell_type: 'unified_exec',
    visibility: 'list',
    supported_in_api: true,
    priority: index + 1,
    base_instructions: instructions,
    support_verbosity: false,
    truncation_policy: { mode: 'tokens', limit: longestOutput },
    experimental_supported_tools: [],
    supports_parallel_tool_calls: capabilities.tools,
    input_modalities: input.filter((kind) => kind === 'text' || kind === 'image'),
    context_window: contextLength,
    auto_compact_token_limit: Math.floor(contextLength * compactedAt),
    // Codex would else send tools that only OpenAI runs, and inside of the input.
    use_responses_lite: false,
    // A tool of free text, which other vendors' models were not trained on.
    apply_patch_tool_type: readOwner(model) === 'openai' ? 'freeform' : null,
  };
}

/** Codex talks, so it sees the models that answer in text. */
export function describeForCodex(models: readonly Model[]): Record<string, unknown>[] {
  return models.filter(({ output }) => output.includes('text')).map(describeEntry);
}
