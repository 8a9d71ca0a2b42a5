import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { isModality } from '../../core/model-facts.ts';
import { readCatalogue } from '../../plugins/shared/provider/catalogue-file.ts';
import { nameRates } from '../support/rates.ts';
import { catalogues, getFileUrl, models, vendors } from './catalogues.ts';

type Listed = (typeof models)[number];

function listNamed(isWanted: (model: Listed) => boolean): (readonly [name: string, model: Listed])[] {
  return models.filter(isWanted).map((model) => [`${model.vendor}: ${model.id}`, model] as const);
}

describe('every catalogue file', () => {
  it.each(vendors)('%s is valid, is dated and states the source of its facts', (vendor) => {
    const file = z
      .object({ vendor: z.string(), asOf: z.iso.date(), source: z.string().min(10) })
      .parse(JSON.parse(readFileSync(getFileUrl(vendor), 'utf8')));
    expect(file.vendor).toBe(vendor);
    expect(catalogues.get(vendor)?.length).toBeGreaterThan(1);
  });

  it.each(vendors)('%s writes money as decimal strings, never as numbers', (vendor) => {
    const numbers: string[] = [];
    JSON.parse(readFileSync(getFileUrl(vendor), 'utf8'), (name, value: unknown) => {
      if (typeof value === 'number') numbers.push(name);
      return value;
    });
    const counts = new Set(['contextLength', 'outputLimit', 'above', 'imageTokens', 'min', 'max']);
    const embeds = new Set(['least', 'most', 'inputs', 'bytes']);
    const own = new Set(['low', 'medium', 'high', 'xhigh', '1K', '2K', '4K', '0.5K', '512', 'auto']);
    const size = /^(multiple|longestEdge|leastPixels|mostPixels|mostRatio)$/;
    const known = counts.union(own).union(embeds);
    // A list has only the lengths of vectors.
    expect(numbers.filter((name) => !known.has(name) && !size.test(name) && !/^\d$/.test(name))).toEqual([]);
  });

  it.each(listNamed(({ output }) => !output.some(isModality)))(
    '%s is a model of one thing that is no conversation, free or sold by tokens or by searches',
    (_, { vendor, output, price, free = false, outputLimit, input, protocols = [] }) => {
      expect([output.length, outputLimit, protocols.length]).toEqual([1, 1, 1]);
      expect(input).toContain('text');
      expect(free).toBe(output[0] === 'categories' || vendor === 'nvidia');
      if (!price) return;
      const { input: token, search } = nameRates(price);
      const isPlausible =
        token > 0n ? token < 1_000_000_000n : search !== undefined && search < 10_000_000n && search > 0n;
      expect(isPlausible).toBe(true);
    },
  );

  it.each(listNamed(({ output }) => output.some(isModality)))(
    '%s is a model of text, pictures or sound sold at a plausible price',
    (_, model) => {
      const price: ReturnType<typeof nameRates> = model.price
        ? nameRates(model.price)
        : { input: 1n, output: 1n, tiers: [] };
      // NVIDIA lets everyone try its models, and charges nothing for it.
      expect(model.free ?? false).toBe(model.vendor === 'nvidia');
      // What makes pictures or sound has a price for them, and says which pictures it can be asked for.
      const made = new Set(['audio', 'image', 'text', 'embeddings']);
      expect(model.output.filter((kind) => !made.has(kind))).toEqual([]);
      expect(price.outputAudio !== undefined).toBe(model.output.includes('audio'));
      expect(model.capabilities.image !== undefined).toBe(model.output.includes('image'));
      if (model.capabilities.image)
        expect(Math.max(...Object.values(model.capabilities.image.tokens))).toBeLessThanOrEqual(
          model.outputLimit,
        );
      expect(
        price.outputImage === undefined ||
          (model.output.includes('image') && price.outputImage > price.output),
      ).toBe(true);
      expect(model.input).toContain('text');
      expect(model.outputLimit).toBeLessThanOrEqual(model.contextLength);
      expect(model.created <= '2026-11-26').toBe(true);
      // Vectors are not counted.
      const isCounted = !model.output.includes('embeddings');
      expect(price.input > 0n && (price.output >= price.input || !isCounted)).toBe(true);
      expect(price.cacheRead === undefined || (price.cacheRead > 0n && price.cacheRead < price.input)).toBe(
        true,
      );
      for (const tier of price.tiers)
        expect(
          tier.input > price.input && tier.output > price.output && tier.above < model.contextLength,
        ).toBe(true);
      expect(model.description).toMatch(/^[A-Z].*[^.]\.$/);
    },
  );

  it('names the owner in each id, or the provider itself if its own ids do not', () => {
    for (const { vendor, id, upstream } of models) {
      // All names of Fireworks begin with an account.
      const name = vendor === 'fireworks' ? upstream.replace(/^.*\//, '') : upstream;
      expect(id).toBe(name.includes('/') ? name : `${vendor}/${name}`);
    }
  });

  it('says no model twice in one file, and may say it in two', () => {
    for (const [vendor, listed] of catalogues)
      expect(new Set(listed.map(({ id }) => id)).size, vendor).toBe(listed.length);
    expect(models.filter(({ id }) => id === 'openai/gpt-oss-120b').map(({ vendor }) => vendor)).toEqual([
      'groq',
      'together',
      'huggingface',
    ]);
  });

  // Without a list a client of another protocol would be refused for its stop sequences.
  it.each(['openai', 'azure'])('names what each reasoning model of OpenAI takes at %s: no stop', (vendor) => {
    const reasoning = readCatalogue(getFileUrl(vendor)).filter(
      ({ id, capabilities }) => id.startsWith('openai/') && capabilities.reasoning.style !== 'none',
    );
    expect(reasoning.length).toBeGreaterThan(20);
    for (const { id, supportedParameters } of reasoning) {
      expect(supportedParameters, id).toContain('reasoning');
      expect(supportedParameters, id).not.toContain('stop');
    }
  });

  it('states what each style of reasoning needs', () => {
    for (const {
      id,
      capabilities: { reasoning },
    } of models) {
      if (reasoning.style === 'effort' || reasoning.style === 'level' || reasoning.style === 'adaptive')
        expect(reasoning.efforts?.length, id).toBeGreaterThan(0);
      if (reasoning.style === 'budget') expect(reasoning.budget?.min, id).toBeGreaterThanOrEqual(0);
      if (reasoning.efforts?.includes('none') || reasoning.style === 'toggle')
        expect(reasoning.canDisable, id).toBe(true);
    }
  });
});
