/**
 * What all parts of this protocol share: its name and bag, the context of its encoders, the flags of a
 * model's endpoint, the names and ids that it accepts, and sealed state. `thoughtSignature` is the only field
 * for such state: Google's own goes there unchanged, another vendor's in an envelope, which is base64 too.
 */
import { hash } from 'node:crypto';
import { z } from 'zod';
import { createFlagReader, type CanonicalRequest, type Model, type Opaque } from '../../../core/index.ts';
import { buildEncoding, type Encoding as BaseEncoding, type Target } from '../../shared/wire-kit/encoding.ts';
import { seal, unseal } from '../../shared/wire-kit/envelope.ts';
import { readOwner } from '../../shared/wire-kit/fit-to-model.ts';
import { describeProtocol } from '../../shared/wire-kit/foreign-fields.ts';
import { fitNameByRule } from '../../shared/wire-kit/offered-tools.ts';
import { readObject } from '../../shared/wire-kit/values.ts';
import { createBag, splitNames } from '../../shared/wire-kit/vendor-bag.ts';

export const protocolName = 'generate-content';
/** The owner of the models that can read this protocol's signatures and files. */
export const vendorName = 'google';
export const bag = createBag(protocolName);

/** Tools in which an answer is grounded. */
const groundings = ['urlContext', 'googleMaps', 'fileSearch', 'retrieval'];

describeProtocol(protocolName, {
  partly: splitNames(`
    functionCall functionResponse generationConfig.thinkingConfig toolConfig.functionCallingConfig
  `),
  collections: splitNames('labels safetySettings'),
  switches: splitNames('store thought generationConfig.responseLogprobs'),
  state: splitNames('cachedContent'),
  decisive: { 'toolConfig.functionCallingConfig.mode': [] },
  isIndispensable: ({ kind, value }) => kind === 'web-search' || groundings.some((name) => name in value),
  // The only member of a tool is named for it.
  readOptions: (tool) => readObject(Object.values(tool)[0]),
});

export interface Encoding extends BaseEncoding {
  /** Whether the model is Google's own. Only Google can read the state that it sealed. */
  readonly native: boolean;
  /** Whether the model is Gemini 3 or later. These check signatures, and accept files inside tool results. */
  readonly modern: boolean;
}

export function createEncoding(request: CanonicalRequest, target: Target): Encoding {
  const encoding = buildEncoding(request, target);
  return { ...encoding, native: encoding.owner === vendorName, modern: isModern(target.model) };
}

export const flagsSchema = z.strictObject({
  /** Whether the model refuses to give several answers to a call. */
  oneCandidate: z.boolean().default(false),
  /**
   * Whether the endpoint takes functions beside Google's own tools, which it demands a switch for. Google's
   * API does since Gemini 3. Vertex has no such switch.
   */
  mixedTools: z.boolean().default(false),
});

export const readFlags = createFlagReader(protocolName, flagsSchema);

/** A name without a version, such as `gemini-flash-latest`, means a modern model. */
function isModern({ upstream }: Model): boolean {
  const [, version] = /gemini-(?:[a-z]+-)*(\d+)?/.exec(upstream) ?? [];
  return upstream.includes('gemini') && Number(version ?? Infinity) >= 3;
}

/** Whether the model refuses tool calls of the current turn without a signature. */
export function checksSignatures(model: Model): boolean {
  return readOwner(model) === vendorName && isModern(model);
}

const rule = { good: /^[A-Za-z_][\w.:-]{0,63}$/, strange: /^[^A-Za-z_]|[^\w.:-]/g, longest: 64 };

/** Replaces a tool's name that Google refuses. */
export function fitName(name: string): string {
  return fitNameByRule(name, rule);
}

/** Makes the id of a call without one. */
export function makeCallId(...place: readonly (string | number)[]): string {
  return `call_${hash('sha256', JSON.stringify(place)).slice(0, 24)}`;
}

/** Whether an id is one that the gateway made. */
export function isMadeId(id: string): boolean {
  return /^call_[0-9a-f]{24}$/.test(id);
}

const kind = 'signature';
/** Google accepts these in place of a signature, and they seal nothing. The gateway sends the first. */
export const placeholders = [
  'context_engineering_is_the_way_to_go',
  'skip_thought_signature_validator',
] as const;

export function readSignature(text: unknown): Opaque | undefined {
  if (typeof text !== 'string' || text === '' || placeholders.some((known) => known === text))
    return undefined;
  const value = convertBase64(text);
  return unseal(value) ?? { vendor: vendorName, kind, value };
}

export function isNative(opaque: Opaque): boolean {
  return opaque.vendor === vendorName && opaque.kind === kind;
}

/** Writes sealed state of a reply for the client. */
export function writeSignature(opaque: Opaque): string {
  return isNative(opaque) ? opaque.value : seal(opaque);
}

/** Converts base64 to the standard alphabet, with padding. Text that mixes both alphabets stays unchanged. */
export function convertBase64(text: string): string {
  const isUrlSafe = text.includes('-') || text.includes('_');
  if (isUrlSafe && (text.includes('+') || text.includes('/'))) return text;
  const data = isUrlSafe ? text.replaceAll('-', '+').replaceAll('_', '/') : text;
  const missing = (4 - (data.length % 4)) % 4;
  return missing === 1 || missing === 2 ? data + '='.repeat(missing) : data;
}
