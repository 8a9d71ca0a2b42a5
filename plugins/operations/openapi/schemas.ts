/**
 * zod schemas as OpenAPI has them. A schema with a title is kept once among the components and referred to by its title;
 * every other stands where it is used, and so does one whose title another has taken.
 */
import { z } from 'zod';

export type Json = Record<string, unknown>;

/** What a client writes and what it reads differ where a schema changes a value on its way in. */
export type Direction = 'input' | 'output';

/** A number of zod's whole ones lies between these; they say nothing to a reader. */
const { MAX_SAFE_INTEGER: most, MIN_SAFE_INTEGER: least } = Number;

function tidy({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.maximum === most) delete jsonSchema.maximum;
  if (jsonSchema.minimum === least) delete jsonSchema.minimum;
  // The pattern of a date is longer than its name, and says no more.
  if (jsonSchema.format === 'date' || jsonSchema.format === 'date-time') delete jsonSchema.pattern;
  // That anything else passes is what a schema says by saying nothing.
  if (JSON.stringify(jsonSchema.additionalProperties) === '{}') delete jsonSchema.additionalProperties;
}

export class Schemas {
  readonly #components = new Map<string, Json>();
  readonly #sources = new Map<string, string>();

  /** The schema where it is used: itself, or a reference to its component. */
  use(schema: z.ZodType, direction: Direction): Json {
    // Where a schema changes a value on its way in, zod takes its examples for those of the outcome.
    const { title, examples } = z.globalRegistry.get(schema) ?? {};
    const { $schema: _dialect, ...told } = z.toJSONSchema(schema, { io: direction, unrepresentable: 'any', override: tidy });
    const json = examples === undefined ? told : { ...told, examples };
    return title === undefined ? json : this.#refer(title, json);
  }

  /** The parts of an object schema, each with whether it has to be there. */
  parts(schema: z.ZodObject): [name: string, part: Json, required: boolean][] {
    return Object.entries(schema.shape).map(([name, part]) => {
      const type = z.toJSONSchema(z.object({ [name]: part }), { io: 'input', unrepresentable: 'any', override: tidy });
      const found = type.properties?.[name];
      return [name, typeof found === 'object' ? { ...found } : {}, type.required?.includes(name) ?? false];
    });
  }

  components(): Json {
    return Object.fromEntries([...this.#components].toSorted(([first], [second]) => (first < second ? -1 : 1)));
  }

  #refer(title: string, json: Json): Json {
    const source = JSON.stringify(json);
    if ((this.#sources.get(title) ?? source) !== source) return json;
    this.#sources.set(title, source);
    this.#components.set(title, json);
    return { $ref: `#/components/schemas/${title}` };
  }
}
