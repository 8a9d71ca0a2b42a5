/**
 * Models that an operator adds to a provider, changes or hides, by their ids: `models: { 'openai/gpt-5.4': {
 * price: { … } } }`. Changed facts replace those of the catalogue file or of the vendor's own list; a price
 * replaces the whole price, and flags are replaced one by one.
 */
import { z } from 'zod';
import {
  changesSchema,
  checkModel,
  describeFaults,
  joinIssues,
  priceSchema,
  type Model,
  type ModelFacts,
  type Price,
} from '../../../core/index.ts';
import { mergeFlags } from './catalogue-file.ts';

/** What an operator says of one model. `false` hides it. */
export type OwnModel = Partial<Omit<ModelFacts, 'id'>> | false;

function isOwnModel(value: unknown): value is OwnModel {
  return value === false || (typeof value === 'object' && value !== null && !Array.isArray(value));
}

export const ownModelsSchema = z
  .record(z.string(), z.custom<OwnModel>(isOwnModel, 'must be an object with facts, or false'))
  .superRefine((models, context) => {
    for (const [id, changes] of Object.entries(models)) {
      const fault = findFault(id, changes);
      if (fault !== undefined) context.addIssue({ code: 'custom', path: [id], message: fault });
    }
  })
  .optional();

export type OwnModels = z.output<typeof ownModelsSchema>;

function findFault(id: string, changes: OwnModel): string | undefined {
  if (!/^[\w.-]+\/[\w./:@+-]+$/.test(id)) return 'a model is named <owner>/<name>';
  if (changes === false) return undefined;
  if (changes.price && changes.free) return 'has a price, and is free: say one of the two';
  const { error } = changesSchema.safeParse(changes);
  return error && describeFaults(changesSchema, error);
}

function change(
  model: Model,
  { price, free, capabilities = {}, ...changes }: Exclude<OwnModel, false>,
): Model {
  const { price: before, free: wasFree, ...facts } = model;
  const flags = mergeFlags(model.capabilities, capabilities);
  const described = checkModel({ ...facts, ...changes, capabilities: flags, free: true });
  if (free) return described;
  return price
    ? { ...described, free: undefined, price: priceSchema.parse(price) }
    : { ...described, free: wasFree, price: before };
}

function add(provider: string, id: string, changes: Exclude<OwnModel, false>, contextLength?: number): Model {
  const upstream = id.startsWith(`${provider}/`) ? id.slice(provider.length + 1) : id;
  const limit = changes.contextLength ?? contextLength;
  const facts = {
    upstream,
    name: changes.upstream ?? upstream,
    description: `${id}, as this gateway describes it.`,
    created: '1970-01-01',
    contextLength: limit,
    outputLimit: limit,
    input: ['text'],
    output: ['text'],
    ...changes,
    id,
  };
  try {
    return checkModel(facts);
  } catch (error) {
    if (!(error instanceof z.ZodError)) throw error;
    throw new Error(`option "models.${id}": ${joinIssues(error)}`, { cause: error });
  }
}

/** Options of a provider that say what its models cost and hold. */
export interface ForAll {
  /** Set if the vendor lists its own models: those with a price are added, the others only change its own. */
  readonly listed?: {
    readonly free?: true | undefined;
    readonly price?: Price | undefined;
    readonly contextLength: number;
  };
}

/** A provider's models with the operator's changes. Throws an Error that names the model and the field. */
export function applyOwnModels(
  provider: string,
  models: readonly Model[],
  own: OwnModels = {},
  { listed }: ForAll = {},
): Model[] {
  const changed = models.flatMap((model) => {
    const changes = Object.hasOwn(own, model.id) ? own[model.id] : undefined;
    if (changes === undefined) return [model];
    return changes ? [change(model, changes)] : [];
  });
  const known = new Set(models.map(({ id }) => id));
  const added = Object.entries(own).flatMap(([id, changes]) => {
    if (!changes || known.has(id)) return [];
    if (!listed || changes.price || changes.free) return [add(provider, id, changes, listed?.contextLength)];
    if (listed.free) return [add(provider, id, { ...changes, free: true }, listed.contextLength)];
    if (!listed.price) return [];
    const model = add(provider, id, { ...changes, free: true }, listed.contextLength);
    return [{ ...model, free: undefined, price: listed.price }];
  });
  return [...changed, ...added];
}
