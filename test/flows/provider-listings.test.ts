/** Models that a provider lists itself. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { pluginInterface, type Catalog, type Host } from '../../core/index.ts';
import { chatCompletions } from '../../plugins/protocols/chat-completions/index.ts';
import { openai } from '../../plugins/providers/openai.ts';
import { openrouter } from '../../plugins/providers/openrouter.ts';
import { vllm } from '../../plugins/providers/vllm.ts';
import { startGateway } from '../support/gateway.ts';
import { makeDataFolder, runVerb } from '../support/process.ts';
import { serve, type Served } from '../support/serve.ts';
import { acceptAnyKey } from '../support/test-provider.ts';
import { openListings, secret, upstream } from './listed-models.ts';

openListings();

describe('a provider that lists its own models', () => {
  const listed = {
    data: [
      {
        id: 'openai/gpt-4o-mini',
        name: 'GPT',
        created: 1750000000,
        context_length: 128_000,
        pricing: { prompt: '0.00000015', completion: '0.0000006' },
      },
    ],
  };
  let vendor: Served;
  beforeAll(async () => {
    vendor = await serve(
      createServer(
        (_, response) =>
          void response.setHeader('content-type', 'application/json').end(JSON.stringify(listed)),
      ),
    );
  });
  afterAll(() => vendor.close());

  it('keeps its place in the configuration, however late its list arrives', async () => {
    let catalog: Catalog | undefined;
    const looker = {
      name: 'looker',
      interface: pluginInterface,
      apply: (host: Host) => void (catalog = host.catalog),
    };
    const own = await startGateway({
      plugins: [
        acceptAnyKey(),
        chatCompletions(),
        openrouter({ apiKey: secret, baseUrl: vendor.origin }),
        openai({ apiKey: secret, baseUrl: upstream }),
        looker,
      ],
    });
    const listProviders = (): string[] =>
      (catalog?.find('openai/gpt-4o-mini') ?? []).map(({ provider }) => provider.name);
    await expect.poll(() => listProviders().length).toBe(2);
    expect(listProviders()).toEqual(['openrouter', 'openai']);
    await own.close();
  });

  it('has each model that is not offered named in the log with the reason, once', async () => {
    let looks = 0;
    const local = await serve(
      createServer((_, response) => {
        looks += 1;
        const data = [{ id: 'Qwen 3 (8B)', meta: { n_ctx: '4096' } }, { id: '模型' }, { id: '模型二' }];
        response.setHeader('content-type', 'application/json').end(JSON.stringify({ data }));
      }),
    );
    const own = await startGateway({
      plugins: [
        acceptAnyKey(),
        chatCompletions(),
        vllm({ baseUrl: `${local.origin}/v1`, free: true, discoverEvery: 1 }),
      ],
    });
    await expect.poll(() => looks).toBeGreaterThan(2);
    const { data } = z
      .object({ data: z.array(z.object({ id: z.string() })) })
      .parse(await (await fetch(`${own.url}/v1/models`)).json());
    expect(data).toMatchObject([{ id: 'vllm/Qwen-3-8B-' }]);
    const said = own.log.filter((line) => line.includes('not offered'));
    expect(said.map((line) => z.object({ msg: z.string() }).parse(JSON.parse(line)).msg)).toEqual([
      'not offered: "模型", "模型二": its id does not begin with a letter or a digit of ASCII',
    ]);
    await own.close();
    await local.close();
  });

  it('is also asked by the command line, which opens no gateway', async () => {
    const folder = makeDataFolder();
    const file = join(folder, 'gateway.config.mjs');
    writeFileSync(
      file,
      "import { balance } from 'tollgate/plugins/meters/balance';\n" +
        "import { catalogue } from 'tollgate/plugins/operations/catalogue';\n" +
        "import { openrouter } from 'tollgate/plugins/providers/openrouter';\n" +
        `export default { dataFolder: ${JSON.stringify(folder)},\n` +
        '  plugins: [openrouter(), catalogue(), balance()] };\n',
    );
    const environment = {
      TOLLGATE_CONFIG: file,
      OPENROUTER_API_KEY: secret,
      OPENROUTER_BASE_URL: vendor.origin,
    };
    const { output } = await runVerb(['models'], environment);
    // A key may be limited to what a provider lists, and to nothing else.
    const createKey = (models: string) => runVerb(['keys', 'create', '--models', models], environment);
    expect((await createKey('openai/gpt-4o-mini')).code).toBe(0);
    expect((await createKey('openai/gpt-4o-mimi')).errors).toContain('did you mean "openai/gpt-4o-mini"?');
    expect(output).toMatch(/^openai\/gpt-4o-mini +0\.15 +0\.6 .*openrouter$/m);
  });
});
