/**
 * A canonical request as a body of this wire, fitted to what the model can take. What this protocol read itself is
 * restored as it stood; what has no place here is told as lost, by its canonical path.
 */
import type { CanonicalRequest, EncodedRequest, Model } from '../../../core/index.ts';
import { foreignFields } from '../../shared/wire-kit/foreign-fields.ts';
import { noteLosses } from '../../shared/wire-kit/losses.ts';
import { isUnpriced, unpriced } from '../../shared/wire-kit/modes.ts';
import { isObject, overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { encodeTurns } from './encode-contents.ts';
import { encodeFormat } from './encode-format.ts';
import { encodeGeneration, splitStops } from './encode-generation.ts';
import { encodeTools } from './encode-tools.ts';
import { encodingFor, type Encoding } from './encoding.ts';
import { writeSpelling } from './spelling.ts';

export function encodeRequest(
  request: CanonicalRequest,
  model: Model,
  outputLimit: number | undefined,
): EncodedRequest {
  const { losses, lose } = noteLosses();
  const encoding = encodingFor(request, model, lose);
  const form = bag.form(request);
  const { systemInstruction, contents } = encodeTurns(request.turns, encoding);
  const { tools, toolConfig } = encodeTools(request, model, encoding);
  const { format, instruction, expects } = encodeFormat(request, model, encoding);
  const generation = overlay({}, encodeGeneration(request, model, outputLimit, { format, encoding }));
  const body = overlay(unfolded(bag.fields(request)), {
    model: form.includes('model') ? `models/${model.upstream}` : undefined,
    contents,
    systemInstruction: instruct(systemInstruction, instruction),
    tools,
    toolConfig: toolConfig ?? (form.includes('toolConfig') ? {} : undefined),
    generationConfig:
      Object.keys(generation).length > 0 || form.includes('generationConfig') ? generation : undefined,
    serviceTier: encodeTier(request, model, encoding),
  });
  for (const name of ['user', 'metadata', 'cacheKey', 'verbosity'] as const) {
    const value = request[name];
    if (value !== undefined && !(typeof value === 'object' && Object.keys(value).length === 0))
      encoding.lose(name, 'generate-content has no such field');
  }
  return {
    body: writeSpelling(body, form),
    losses: [...losses, ...foreignFields(request, protocolName)],
    stops: splitStops(request, model, encoding).watched,
    expects,
  };
}

function instruct(
  system: ReturnType<typeof encodeTurns>['systemInstruction'],
  instruction: string | undefined,
): Fields | undefined {
  if (instruction === undefined) return system;
  const parts: unknown = system?.parts;
  return { ...system, parts: [...(Array.isArray(parts) ? parts : []), { text: instruction }] };
}

const groups = ['generationConfig', 'toolConfig'];

/** Members that are kept by their paths, put back into the objects they stood in. */
function unfolded(fields: Fields): Fields {
  const whole: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    const group = groups.find((each) => name.startsWith(`${each}.`));
    if (group === undefined) whole[name] = value;
    else
      whole[group] = {
        ...(isObject(whole[group]) ? whole[group] : {}),
        [name.slice(group.length + 1)]: value,
      };
  }
  return whole;
}

/** Google's words for tiers that others call otherwise. */
const tiers: Readonly<Record<string, string>> = {
  default: 'standard',
  standard: 'standard',
  flex: 'flex',
  priority: 'priority',
};

function encodeTier(request: CanonicalRequest, model: Model, { lose }: Encoding): string | undefined {
  const { serviceTier: tier } = request;
  if (tier === undefined) return undefined;
  const written = bag
    .form(request)
    .find((word) => word.startsWith('tier:'))
    ?.slice('tier:'.length);
  if (written !== undefined) return written;
  const known = Object.hasOwn(tiers, tier) ? tiers[tier] : undefined;
  if (known === undefined && tier !== 'auto') lose('serviceTier', 'Google has no such tier');
  if (known === undefined || !isUnpriced(known, model)) return known;
  lose('serviceTier', unpriced, 'model');
  return undefined;
}
