/**
 * Reads a catalogue file: the models of one vendor, dated, with money as decimal strings, and the days that
 * its price rules name.
 */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { checkModel, findWorldwidePrice, getMessage, type Model, type Price } from '../../../core/index.ts';

const wireSchema = z.record(z.string(), z.record(z.string(), z.unknown())).default({});

type Flags = Readonly<Record<string, unknown>>;

/** A model's own flags replace the file's defaults. Those of `wire` do so one by one. */
export function mergeFlags(defaults: Flags, own: Flags): Flags {
  const wires = [wireSchema.parse(defaults.wire), wireSchema.parse(own.wire)];
  const protocols = new Set(wires.flatMap((wire) => Object.keys(wire)));
  const wire = Object.fromEntries(
    [...protocols].map((protocol) => [protocol, Object.assign({}, ...wires.map((each) => each[protocol]))]),
  );
  return { ...defaults, ...own, wire };
}

const fileSchema = z.strictObject({
  vendor: z.string(),
  /** The day the facts were checked, and their source. */
  asOf: z.iso.date(),
  source: z.string(),
  /** Lists of days that price rules refer to by name, and the last day up to which a list is complete. */
  calendars: z
    .record(z.string(), z.strictObject({ days: z.array(z.string()), through: z.iso.date() }))
    .default({}),
  /** Defaults for the models of the file. */
  defaults: z
    .strictObject({
      capabilities: z.record(z.string(), z.unknown()).default({}),
      protocols: z.array(z.string()).min(1).optional(),
    })
    .prefault({}),
  models: z.array(
    z.looseObject({ id: z.string(), capabilities: z.record(z.string(), z.unknown()).default({}) }),
  ),
});

/** When prices were checked last, and where. */
export interface PriceOrigin {
  readonly asOf: string;
  readonly source: string;
  /** The last day for which all holidays of its rules are known, if they name a calendar. */
  readonly holidaysThrough?: string | undefined;
}

const origins = new WeakMap<Price, PriceOrigin>();

/** Undefined for a price that is in no catalogue file, as one that the operator states. */
export function findPriceOrigin(price: Price): PriceOrigin | undefined {
  return origins.get(findWorldwidePrice(price) ?? price);
}

function readJson(file: URL): unknown {
  const text = readFileSync(file, 'utf8');
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${file.pathname}: ${getMessage(error)}`, {
      cause: error,
    });
  }
}

type Calendars = z.output<typeof fileSchema>['calendars'];

/** Writes out the lists of days that rules name, and says how far the shortest of them goes. */
function nameDays<Facts>(facts: Facts, calendars: Calendars): { facts: Facts; through: string | undefined } {
  if (Object.keys(calendars).length === 0) return { facts, through: undefined };
  let through: string | undefined;
  const named: Facts = JSON.parse(JSON.stringify(facts), (key, value: unknown) => {
    if ((key !== 'only' && key !== 'except') || typeof value !== 'string') return value;
    const calendar = calendars[value];
    if (calendar && (through === undefined || calendar.through < through)) through = calendar.through;
    return calendar?.days ?? value;
  });
  return { facts: named, through };
}

/** Reads and checks a catalogue file. Throws an Error that names the file, the model and the field. */
export function readCatalogue(file: URL): Model[] {
  const parsed = fileSchema.safeParse(readJson(file));
  if (!parsed.success) throw new Error(`${file.pathname}: ${z.prettifyError(parsed.error)}`);
  const { defaults, calendars, models, asOf, source } = parsed.data;
  return models.map((listed) => {
    const { facts, through } = nameDays(listed, calendars);
    const { protocols } = defaults;
    const capabilities = mergeFlags(defaults.capabilities, facts.capabilities);
    try {
      const model = checkModel({ protocols, ...facts, capabilities }, file.pathname);
      if (model.price) origins.set(model.price, { asOf, source, holidaysThrough: through });
      return model;
    } catch (error) {
      if (!(error instanceof z.ZodError)) throw error;
      throw new Error(`${file.pathname}: model "${facts.id}": ${z.prettifyError(error)}`, { cause: error });
    }
  });
}
