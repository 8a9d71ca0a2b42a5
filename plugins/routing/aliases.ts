/**
 * Model names of the operator's own: `{ 'house/fast': 'openai/gpt-5-mini' }`, `{ 'claude-*':
 * 'anthropic/claude-*' }`, or several models that share the calls by weight. A model of the catalogue wins
 * over an alias of the same name. The reply names the model that answers.
 */
import { z } from 'zod';
import { definePlugin, type Parsed, type Target } from '../../core/index.ts';
import { hashConversation, readSession } from '../shared/routing/conversation.ts';
import { stages } from '../shared/routing/ranking.ts';

const oneStar = /^[^*]*(?:\*[^*]*)?$/;
const name = z.string().min(1).max(200).regex(oneStar, 'may have one *');

const split = z
  .array(
    z.strictObject({
      model: name,
      /** 0: only a fallback of the others. */
      weight: z.number().nonnegative().max(1e6).default(1),
    }),
  )
  .refine((models) => models.some(({ weight }) => weight > 0), 'needs a model whose weight is not 0');

type Split = z.output<typeof split>;

interface Alias {
  readonly pattern: string;
  readonly models: Split;
}

/** What a pattern's star matches in a name. Undefined if they do not match. */
function matchStar(pattern: string, asked: string): string | undefined {
  const star = pattern.indexOf('*');
  if (star < 0) return pattern === asked ? '' : undefined;
  const [before, after] = [pattern.slice(0, star), pattern.slice(star + 1)];
  const fits = asked.length >= before.length + after.length;
  return fits && asked.startsWith(before) && asked.endsWith(after)
    ? asked.slice(before.length, asked.length - after.length)
    : undefined;
}

/** Exact names first, then the longest patterns. */
function sortAliases(aliases: readonly Alias[]): Alias[] {
  const rank = ({ pattern }: Alias): number => (pattern.includes('*') ? pattern.length : Infinity);
  return aliases.toSorted((first, second) => (rank(second) > rank(first) ? 1 : -1));
}

/** The models of the first alias that fits, with what its star matched. */
function findModels(aliases: readonly Alias[], asked: string): Split | undefined {
  for (const { pattern, models } of aliases) {
    const star = matchStar(pattern, asked);
    if (star !== undefined)
      return models.map(({ model, weight }) => ({ model: model.replace('*', () => star), weight }));
  }
  return undefined;
}

/** Conversations of fewer bytes are in no vendor's cache. */
const shortest = 4096;

/**
 * A number from 0 to 1 for the call. A conversation that a vendor may have cached stays with its model: the
 * number follows from its digest, so that all workers and machines draw the same one.
 */
function draw(parsed: Parsed): number {
  const isSticky = parsed.call.size.textBytes >= shortest || readSession(parsed) !== undefined;
  return isSticky
    ? Buffer.from(hashConversation(parsed), 'base64').readUIntBE(0, 6) / 2 ** 48
    : Math.random();
}

/** The same models, the chosen one first. The others follow as fallbacks. */
function chooseFirst<Each extends { readonly weight: number }>(
  models: readonly Each[],
  parsed: Parsed,
): readonly Each[] {
  let left = draw(parsed) * models.reduce((sum, { weight }) => sum + weight, 0);
  const chosen = models.find(({ weight }) => (left -= weight) < 0) ?? models.at(-1);
  return chosen ? [chosen, ...models.filter((each) => each !== chosen)] : models;
}

/** Printable, and short: part of a name comes from the client. */
const canBeHeader = /^[!-~]{1,200}$/;

/** Whether the catalogue itself has the name: it wins over an alias. */
function isCatalogued(asked: string, targets: readonly Target[]): boolean {
  return targets.some(
    ({ model: { id, canonicalSlug, aliases: others } }) =>
      [id, canonicalSlug].includes(asked) || others.includes(asked),
  );
}

export const aliases = definePlugin({
  name: 'aliases',
  /** Own name → model, or models with weights. */
  options: z.record(
    name,
    z.union([name.transform((model): Split => [{ model, weight: 1 }]), split], {
      error: 'must be a model, or a list of { model, weight }',
    }),
  ),
  apply(host, options) {
    const known = sortAliases(Object.entries(options).map(([pattern, models]) => ({ pattern, models })));
    if (known.length === 0) return;
    // A call to several is decided in `route`, where the conversation is known.
    host.catalog.addNames((asked) => (findModels(known, asked) ?? []).slice(0, 1).map(({ model }) => model));
    host.hooks.route.tap({ name: 'aliases', stage: stages.aliases }, (targets, parsed) => {
      const models = findModels(known, parsed.call.model);
      if (!models || models.length < 2 || isCatalogued(parsed.call.model, targets)) return targets;
      const served = models
        .map(({ model, weight }) => ({ weight, found: host.findTargets(model, parsed.protocol) }))
        .filter(({ found }) => found.length > 0);
      return chooseFirst(served, parsed).flatMap(({ found }): readonly Target[] => found);
    });
    host.hooks.authorize.tap('aliases', (grant, { call, targets }) => {
      const asked = call.model;
      const isAlias = !targets.some(({ model }) => model.id === asked) && findModels(known, asked);
      return isAlias && canBeHeader.test(asked)
        ? { ...grant, headers: { ...grant.headers, 'x-tollgate-alias': asked } }
        : grant;
    });
  },
});
