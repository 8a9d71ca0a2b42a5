/**
 * Encodes structured output. Anthropic enforces only schemas with closed objects and a few keywords. Other
 * keywords go into the descriptions, for the model to read.
 */
import { isDeepStrictEqual } from 'node:util';
import type { CanonicalRequest } from '../../../core/index.ts';
import { describeFormat, nameSchema, type FormatInWords } from '../../shared/wire-kit/json-mode.ts';
import type { Lose } from '../../shared/wire-kit/losses.ts';
import { isObject, overlay, type Fields, splitNames } from '../../shared/wire-kit/vendor-bag.ts';
import { bag } from './bag.ts';
import type { Encoding } from './encoding.ts';

/** Returns the field, or an instruction in its place. */
export function encodeFormat(
  { format }: CanonicalRequest,
  { model, lose }: Encoding,
): FormatInWords & { readonly format?: Fields } {
  if (!format || format.type === 'text') return {};
  if (format.type === 'json' || format.schema === undefined) {
    lose('format', 'messages has no JSON mode; an instruction asks for it', 'approximated');
    return describeFormat({ type: 'json' });
  }
  if (!model.capabilities.structuredOutput) {
    lose('format', 'the model has no structured output; an instruction asks for it', 'approximated');
    return describeFormat(format);
  }
  const schema = isObject(format.schema) ? nameSchema(format, format.schema) : format.schema;
  const fitted = { type: 'json_schema', schema: tightenSchema(schema, 'format', lose) };
  return { format: overlay(bag.getFields(format), fitted) };
}

/** Returns the schema as Anthropic enforces it. Reports a loss if it differs from the client's. */
export function tightenSchema(schema: unknown, path: string, lose: Lose): unknown {
  const fitted = fitSchema(schema);
  const { $schema: _, ...original } = isObject(schema) ? schema : {};
  if (isObject(schema) && !isDeepStrictEqual(fitted, original))
    lose(
      `${path}.schema`,
      'objects are closed, and rules that the model does not enforce are sent in descriptions',
      'approximated',
    );
  return fitted;
}

const formats: ReadonlySet<unknown> = splitNames(`
  date-time time date duration email hostname uri ipv4 ipv6 uuid
`);
const kept = splitNames(`
  type description title properties required additionalProperties items enum const anyOf allOf $ref $defs
  definitions default
`);

function isKept([name, value]: [string, unknown]): boolean {
  if (name === 'format') return formats.has(value);
  if (name === 'minItems') return value === 0 || value === 1;
  return kept.has(name);
}

/** Closes objects, turns `oneOf` into `anyOf`, and moves other keywords into the description. */
function fitSchema(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const { oneOf, $schema: _, ...rest } = schema;
  const entries = Object.entries(oneOf === undefined ? rest : { anyOf: oneOf, ...rest });
  const described = entries
    .filter((entry) => !isKept(entry))
    .map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  const fitted = Object.fromEntries(
    entries.filter(isKept).map(([name, value]) => [name, fitMember(name, value)]),
  );
  const closed =
    fitted.type === 'object' || isObject(fitted.properties)
      ? { ...fitted, additionalProperties: false }
      : fitted;
  if (described.length === 0) return closed;
  return {
    ...closed,
    description: [fitted.description, `{${described.join(', ')}}`].filter(Boolean).join('\n\n'),
  };
}

const namedSchemas: ReadonlySet<string> = new Set(['properties', '$defs', 'definitions']);
const listedSchemas: ReadonlySet<string> = new Set(['anyOf', 'allOf']);

function fitMember(name: string, value: unknown): unknown {
  if (namedSchemas.has(name) && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, schema]) => [key, fitSchema(schema)]));
  }
  if (listedSchemas.has(name) && Array.isArray(value)) return value.map(fitSchema);
  return name === 'items' ? fitSchema(value) : value;
}
