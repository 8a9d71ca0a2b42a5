/**
 * Turns zod schemas into those of OpenAPI. A schema with a title becomes a component, and places that use it
 * refer to it by that title. Every other schema is written where it is used, and so is one whose title
 * belongs to another already.
 */
import { z } from 'zod';

export type Json = Record<string, unknown>;

/** Input and output differ if a schema transforms a value. */
export type Direction = 'input' | 'output';

/** zod gives these bounds to every integer; they mean nothing to a reader. */
const { MAX_SAFE_INTEGER: most, MIN_SAFE_INTEGER: least } = Number;

function tidy({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.maximum === most) delete jsonSchema.maximum;
  if (jsonSchema.minimum === least) delete jsonSchema.minimum;
  // The pattern of a date is long and says no more than the format does.
  if (jsonSchema.format === 'date' || jsonSchema.format === 'date-time') delete jsonSchema.pattern;
  // Without this member any other property passes too.
  if (JSON.stringify(jsonSchema.additionalProperties) === '{}') delete jsonSchema.additionalProperties;
}

export class Schemas {
  readonly #components = new Map<string, Json>();
  readonly #sources = new Map<string, string>();
  readonly #used = { input: new Map<z.ZodType, Json>(), output: new Map<z.ZodType, Json>() };

  /**
   * The schema as it is used: itself, or a reference to its component. A schema that many operations share is
   * converted once.
   */
  use(schema: z.ZodType, direction: Direction): Json {
    const known = this.#used[direction].get(schema);
    if (known) return known;
    const made = this.#convert(schema, direction);
    this.#used[direction].set(schema, made);
    return made;
  }

  #convert(schema: z.ZodType, direction: Direction): Json {
    // Examples of a schema that changes values are of its input, but zod would put them on its output.
    const { title, examples } = z.globalRegistry.get(schema) ?? {};
    const { $schema: _dialect, ...plain } = z.toJSONSchema(schema, {
      io: direction,
      unrepresentable: 'any',
      override: tidy,
    });
    const json = examples === undefined ? plain : { ...plain, examples };
    return title === undefined ? json : this.#refer(title, json);
  }

  /** The members of an object schema, and whether each is required. */
  listParts(schema: z.ZodObject): [name: string, part: Json, required: boolean][] {
    const { properties = {}, required = [] } = z.toJSONSchema(schema, {
      io: 'input',
      unrepresentable: 'any',
      override: tidy,
    });
    return Object.entries(properties).map(([name, part]) => [
      name,
      typeof part === 'object' ? { ...part } : {},
      required.includes(name),
    ]);
  }

  getComponents(): Json {
    return Object.fromEntries(
      [...this.#components].toSorted(([first], [second]) => (first < second ? -1 : 1)),
    );
  }

  #refer(title: string, json: Json): Json {
    const source = JSON.stringify(json);
    if ((this.#sources.get(title) ?? source) !== source) return json;
    this.#sources.set(title, source);
    this.#components.set(title, json);
    return { $ref: `#/components/schemas/${title}` };
  }
}
