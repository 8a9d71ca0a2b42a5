/** The option `models` of a provider: models that an operator adds, changes and hides. */
import { describe, expect, it } from 'vitest';
import { getRate, priceSchema, type Model } from '../../core/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { amazonBedrock } from '../../plugins/providers/amazon-bedrock.ts';
import { azure } from '../../plugins/providers/azure.ts';
import { ollama } from '../../plugins/providers/ollama.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { readListing } from '../../plugins/shared/provider/listing.ts';
import { startGateway } from '../support/gateway.ts';
import { openHarness } from '../support/harness.ts';
import { createHost } from '../support/host.ts';

type Own = NonNullable<NonNullable<Parameters<typeof openai>[0]>['models']>;

const plain = createHost([openai({ apiKey: 'key' })]).catalog;

/** The models of OpenAI with these of the operator. */
function offerModels(models: Own): Map<string, Model> {
  const { catalog } = createHost([openai({ apiKey: 'key', models })]);
  return new Map(catalog.listModels().map((model) => [model.id, model]));
}

describe('a model of the catalogue', () => {
  it('takes the facts that the operator changes, and keeps the others', () => {
    const [before] = plain.find('openai/gpt-4o');
    const changed = offerModels({
      'openai/gpt-4o': {
        price: { input: '1', output: '3' },
        outputLimit: 123,
        capabilities: { tools: false, wire: { 'chat-completions': { callIds: 'nine' } } },
      },
    }).get('openai/gpt-4o');
    const facts = before?.model;
    expect(changed).toEqual({
      ...facts,
      outputLimit: 123,
      price: priceSchema.parse({ input: '1', output: '3' }),
      capabilities: {
        ...facts?.capabilities,
        tools: false,
        wire: {
          ...facts?.capabilities.wire,
          'chat-completions': { ...facts?.capabilities.wire['chat-completions'], callIds: 'nine' },
        },
      },
    });
  });

  it('keeps its price if only its limit changes, loses it when it becomes free, and can be hidden', () => {
    const before = plain.find('openai/gpt-4o')[0]?.model.price;
    expect(offerModels({ 'openai/gpt-4o': { contextLength: 1000 } }).get('openai/gpt-4o')).toMatchObject({
      contextLength: 1000,
      price: before,
    });
    const free = offerModels({ 'openai/gpt-4o': { free: true } }).get('openai/gpt-4o');
    expect([free?.free, free?.price]).toEqual([true, undefined]);
    const left = offerModels({ 'openai/gpt-4o': false });
    expect(left.has('openai/gpt-4o')).toBe(false);
    expect(left.size).toBe(plain.listModels().length - 1);
  });
});

describe('a model that the catalogue does not have', () => {
  it('is offered under its own name, with the limits and the price it is given', () => {
    const own = offerModels({
      'openai/gpt-next': { contextLength: 5000, price: { input: '0.5', output: '2' } },
    });
    expect(own.get('openai/gpt-next')).toMatchObject({
      upstream: 'gpt-next',
      contextLength: 5000,
      outputLimit: 5000,
      input: ['text'],
      price: priceSchema.parse({ input: '0.5', output: '2' }),
    });
    expect(own.size).toBe(plain.listModels().length + 1);
  });

  it('works at a cloud, whatever profile or deployments it has', () => {
    const models: Own = {
      'house/claude': { upstream: 'eu.house', contextLength: 9000, price: { input: '1', output: '2' } },
    };
    const bedrock = amazonBedrock({ region: 'eu-central-1', apiKey: 'key', profile: 'eu', models });
    const deployed = azure({
      baseUrl: 'https://a.invalid',
      apiKey: 'key',
      deployments: { 'gpt-4o': 'ours' },
      models,
    });
    for (const plugin of [bedrock, deployed])
      expect(createHost([plugin]).catalog.find('house/claude')[0]?.model.upstream).toBe('eu.house');
  });

  it('is called with its own price, by an official SDK', async () => {
    const harness = await openHarness({
      provider: Object.assign(
        (options: Parameters<typeof openai>[0]) =>
          openai({
            ...options,
            models: { 'openai/house-model': { contextLength: 9000, price: { input: '10', output: '100' } } },
          }),
        { options: openai.options },
      ),
    });
    harness.vendor.script('house-model', {
      text: ['Yes.'],
      usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
    });
    const reply = await harness.client.chat.completions.create({
      model: 'openai/house-model',
      messages: [{ role: 'user', content: 'Hi' }],
    });
    expect(reply.model).toBe('openai/house-model');
    expect((await harness.balance()).used).toBe((7 * 10 + 3 * 100) / 1e6);
  });
});

describe('a vendor that lists its models', () => {
  const listed = { data: [{ id: 'llama3', max_model_len: 4000 }, { id: 'qwen' }] };
  const price = { input: '0.1', output: '0.2' };

  it('has them with the operator’s facts, and with the models that have a price', () => {
    const models = readListing('vllm', listed, {
      contextLength: 8192,
      models: {
        'vllm/llama3': { price, contextLength: 2000 },
        'vllm/other': { price },
        'vllm/unpriced': { contextLength: 5 },
      },
    });
    expect(
      models.map(({ id, contextLength, price: own }) => [id, contextLength, getRate(own, 'input')]),
    ).toEqual([
      ['vllm/llama3', 2000, '0.1'],
      ['vllm/other', 8192, '0.1'],
    ]);
  });

  it('offers models that have a price although its list cannot be read', async () => {
    const server = ollama({ baseUrl: 'http://127.0.0.1:1/v1', models: { 'ollama/own': { price } } });
    const gateway = await startGateway({ plugins: [chatCompletions(), server] });
    const listed: unknown = await (await fetch(`${gateway.url}/v1/models`)).json();
    await gateway.close();
    expect(listed).toMatchObject({ data: [{ id: 'ollama/own', context_length: 8192 }] });
  });
});

describe('a wrong entry', () => {
  it.each<[Own, string]>([
    [{ 'gpt-4o': {} }, 'plugin "openai": option "models.gpt-4o": a model is named <owner>/<name>'],
    [{ 'openai/x': { contextLength: -1 } }, 'option "models.openai/x": option "contextLength"'],
    [{ 'openai/x': { price: { input: '1' } } as never }, 'option "models.openai/x": option "price.rates"'],
    [{ 'openai/x': { free: true, price: { input: '1', output: '1' } } }, 'say one of the two'],
    [{ 'openai/x': { limit: 1 } as never }, 'unknown option "limit"; it has "upstream"'],
    [{ 'openai/x': { capabilities: { tool: true } as never } }, 'unknown option "capabilities.tool"'],
    [{ 'openai/x': 7 as never }, 'must be an object with facts, or false'],
  ])('is refused by provider, model and field: %o', (models, fault) => {
    expect(() => openai({ apiKey: 'key', models })).toThrow(fault);
  });

  it('that lacks what a new model needs is refused when the gateway starts', () => {
    expect(() => offerModels({ 'openai/new': { price: { input: '1', output: '1' } } })).toThrow(
      'option "models.openai/new": contextLength',
    );
    expect(() => offerModels({ 'openai/new': { contextLength: 5 } })).toThrow('needs a price, or free: true');
  });
});
