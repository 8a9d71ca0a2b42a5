/**
 * Encodes a canonical request as a body that the model accepts. What this protocol cannot express is reported
 * as lost, by its canonical path.
 */
import type { CanonicalRequest, EncodedRequest, Model } from '../../../core/index.ts';
import { listForeignFields } from '../../shared/wire-kit/foreign-fields.ts';
import { collectLosses } from '../../shared/wire-kit/losses.ts';
import { isUnpriced, unpriced } from '../../shared/wire-kit/modes.ts';
import { readList, readObject } from '../../shared/wire-kit/values.ts';
import { overlay, type Fields } from '../../shared/wire-kit/vendor-bag.ts';
import { bag, protocolName } from './bag.ts';
import { encodeTurns } from './encode-contents.ts';
import { encodeFormat, encodeGeneration, splitStops } from './encode-generation.ts';
import { encodeTools } from './encode-tools.ts';
import { createEncoding, type Encoding } from './encoding.ts';

export function encodeRequest(
  request: CanonicalRequest,
  model: Model,
  outputLimit: number | undefined,
  inPlace = false,
): EncodedRequest {
  const { losses, lose } = collectLosses();
  const encoding = createEncoding(request, model, lose, inPlace);
  const { systemInstruction, contents } = encodeTurns(request.turns, encoding);
  const { tools, toolConfig } = encodeTools(request, encoding);
  const { format, instruction, expects } = encodeFormat(request, encoding);
  const generation = overlay({}, encodeGeneration(request, outputLimit, format, encoding));
  const body = overlay(unflatten(bag.getFields(request)), {
    contents,
    systemInstruction: addInstruction(systemInstruction, instruction),
    tools,
    toolConfig,
    generationConfig: Object.keys(generation).length > 0 ? generation : undefined,
    serviceTier: encodeTier(request, encoding),
  });
  for (const name of ['user', 'metadata', 'cacheKey', 'verbosity'] as const) {
    const value = request[name];
    if (value !== undefined && !(typeof value === 'object' && Object.keys(value).length === 0))
      encoding.lose(name, 'generate-content has no such field');
  }
  return {
    body,
    losses: [...losses, ...listForeignFields(request, protocolName)],
    stops: splitStops(request, encoding).watched,
    expects,
  };
}

function addInstruction(
  system: ReturnType<typeof encodeTurns>['systemInstruction'],
  instruction: string | undefined,
): Fields | undefined {
  if (instruction === undefined) return system;
  return { ...system, parts: [...readList(system?.parts), { text: instruction }] };
}

const groups = ['generationConfig', 'toolConfig'];

/** Puts fields that were kept by their path back into their objects. */
function unflatten(fields: Fields): Fields {
  const whole: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(fields)) {
    const group = groups.find((each) => name.startsWith(`${each}.`));
    if (group === undefined) whole[name] = value;
    else whole[group] = { ...readObject(whole[group]), [name.slice(group.length + 1)]: value };
  }
  return whole;
}

/** Google's names of tiers, by their canonical names. */
const tiers: Readonly<Record<string, string>> = {
  default: 'standard',
  standard: 'standard',
  flex: 'flex',
  priority: 'priority',
};

function encodeTier(request: CanonicalRequest, { model, lose }: Encoding): string | undefined {
  const { serviceTier: tier } = request;
  if (tier === undefined) return undefined;
  const known = Object.hasOwn(tiers, tier) ? tiers[tier] : undefined;
  if (known === undefined && tier !== 'auto') lose('serviceTier', 'Google has no such tier');
  if (known === undefined || !isUnpriced(known, model)) return known;
  lose('serviceTier', unpriced, 'model');
  return undefined;
}
