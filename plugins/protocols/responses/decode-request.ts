/**
 * Decodes a client's request to the canonical form. Fields without a canonical name are kept in the bag.
 */
import type { CanonicalRequest, Turn, Format } from '../../../core/index.ts';
import {
  pickOwnFields,
  pickUnread,
  nestFields,
  type Fields,
  splitNames,
} from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import { decodeItems } from './decode-items.ts';
import { decodeChoice, decodeTools } from './decode-tools.ts';
import type { ReadRequest } from './read-items.ts';
import { ToolNames } from './tool-names.ts';
import * as Wire from './wire.ts';

/** Fields that become canonical, entirely or in part, or that are kept as a note. */
const readFields = splitNames(`
  model input instructions stream tools parallel_tool_calls max_output_tokens temperature top_p
  top_logprobs metadata user service_tier prompt_cache_key truncation store background include reasoning
  text safety_identifier
`);

export const encryptedReasoning = 'reasoning.encrypted_content';
export const textLogprobs = 'message.output_text.logprobs';
/** Values of `include` that are canonical, or that the encoder adds itself. Any other is lost elsewhere. */
const knownIncludes = new Set([encryptedReasoning, textLogprobs]);

export function decodeRequest({ wire, items, tools: readTools }: ReadRequest): CanonicalRequest {
  const toolNames: Record<string, string> = {};
  const tools = decodeTools(readTools, toolNames);
  const toolChoice = decodeChoice(wire.tool_choice);
  const head: CanonicalRequest = {
    model: wire.model,
    stream: wire.stream ?? false,
    turns: [],
    tools,
    toolChoice,
    parallelToolCalls: wire.parallel_tool_calls ?? undefined,
    outputLimit: wire.max_output_tokens ?? undefined,
    temperature: wire.temperature ?? undefined,
    topP: wire.top_p ?? undefined,
    logprobs:
      wire.top_logprobs || wire.include?.includes(textLogprobs)
        ? { top: wire.top_logprobs || undefined }
        : undefined,
    format: decodeFormat(wire.text?.format),
    verbosity: wire.text?.verbosity ?? undefined,
    reasoning: decodeReasoning(wire.reasoning),
    user: wire.user ?? wire.safety_identifier ?? undefined,
    metadata: wire.metadata ?? undefined,
    serviceTier: wire.service_tier ?? undefined,
    cacheKey: wire.prompt_cache_key ?? undefined,
    names: readNames(wire, toolNames),
    ...bag.keep(collectLeftover(wire, toolChoice !== undefined)),
  };
  return {
    ...head,
    turns: [...decodeInstructions(wire), ...decodeInput(wire, items, new ToolNames(head, true))],
  };
}

function decodeInstructions({ instructions }: Wire.Request): Turn[] {
  if (!instructions) return [];
  const at = 'instructions';
  return [{ role: 'system', blocks: [{ type: 'text', text: instructions, at }], at }];
}

function decodeInput({ input, model }: Wire.Request, items: ReadRequest['items'], names: ToolNames): Turn[] {
  if (typeof input !== 'string') return decodeItems(items, names, model);
  const at = 'input';
  return [{ role: 'user', blocks: [{ type: 'text', text: input, at }], at }];
}

/** The client's names of canonical fields, where they differ from this protocol's usual ones. */
function readNames(wire: Wire.Request, toolNames: Record<string, string>): CanonicalRequest['names'] {
  const included = wire.top_logprobs ? -1 : (wire.include?.indexOf(textLogprobs) ?? -1);
  const isSafety = hasOnlySafetyIdentifier(wire);
  if (included < 0 && !isSafety && Object.keys(toolNames).length === 0) return undefined;
  return {
    ...toolNames,
    ...(isSafety ? { user: 'safety_identifier' } : {}),
    ...(included < 0 ? {} : { logprobs: `include[${included}]` }),
  };
}

function hasOnlySafetyIdentifier({ user, safety_identifier: safety }: Wire.Request): boolean {
  return typeof user !== 'string' && typeof safety === 'string';
}

const truncations = new Set(['auto', 'disabled']);
const effortAlone = new Set(['effort']);
const reasoningFields = new Set([...effortAlone, 'summary']);

/** Fields without a canonical name, and the rest of fields that are canonical in part. */
function collectLeftover(wire: Wire.Request, choiceRead: boolean): Fields {
  const known = new Set(readFields);
  if (choiceRead) known.add('tool_choice');
  const { include } = wire;
  const truncates = wire.truncation && !truncations.has(wire.truncation);
  return {
    ...pickOwnFields(wire, known),
    ...(include?.every((name) => knownIncludes.has(name)) === false ? { include } : {}),
    ...nestFields(
      'reasoning',
      pickUnread(wire.reasoning ?? {}, isUsualSummary(wire) ? reasoningFields : effortAlone),
    ),
    ...nestFields('text', {
      ...pickUnread(wire.text ?? {}, ['format', 'verbosity']),
      ...readFormatLeftover(wire.text?.format),
    }),
    ...(typeof wire.user === 'string' && typeof wire.safety_identifier === 'string'
      ? { safety_identifier: wire.safety_identifier }
      : {}),
    ...(wire.input === null ? { input: null } : {}),
    ...(truncates ? { truncation: wire.truncation } : {}),
  };
}

function decodeReasoning(reasoning: Wire.Request['reasoning']): CanonicalRequest['reasoning'] {
  if (!reasoning) return undefined;
  const { effort, summary } = reasoning;
  return effort || summary
    ? { effort: effort ?? undefined, display: summary ? 'summary' : undefined }
    : undefined;
}

/** An unknown format is kept unchanged. */
function readFormatLeftover(format: Wire.AnyFormat | null | undefined): Fields {
  if (!format) return {};
  if (!Wire.isKnownFormat(format)) return { format };
  return nestFields('format', format.type === 'json_schema' ? {} : pickUnread(format, ['type']));
}

const summaries = new Set(['auto', 'concise', 'detailed']);

function isUsualSummary({ reasoning }: Wire.Request): boolean {
  return !reasoning?.summary || summaries.has(reasoning.summary);
}

function decodeFormat(format: Wire.AnyFormat | null | undefined): Format | undefined {
  if (!format || !Wire.isKnownFormat(format)) return undefined;
  if (format.type === 'text') return { type: 'text' };
  if (format.type === 'json_object') return { type: 'json' };
  const { name, description, schema, strict } = format;
  return {
    type: 'schema',
    name,
    description: description ?? undefined,
    schema,
    strict: strict ?? undefined,
    ...bag.keep(pickUnread(format, ['type', 'name', 'description', 'schema', 'strict'])),
  };
}
