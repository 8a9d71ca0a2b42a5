/** Other gateways that a registry has, each fetched into the run's folder in the version it has today. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort } from '../support/free-port.ts';
import { run, start } from './processes.ts';
import { vendorKey, type Place, type Target } from './targets.ts';

/**
 * With the newest of what it depends on its streams fail (Portkey-AI/gateway issue 1389); with these they
 * work.
 */
const portkeyPackage = {
  private: true,
  dependencies: { '@portkey-ai/gateway': '1.15.2' },
  overrides: { '@hono/node-server': '1.3.3', hono: '4.9.7' },
};

/** The other gateway for Node that is widely used. */
export async function startPortkey({ vendor, folder }: Place): Promise<Target> {
  const home = join(folder, 'portkey');
  mkdirSync(home);
  writeFileSync(join(home, 'package.json'), JSON.stringify(portkeyPackage));
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: home });
  const port = await findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const args = [
    join(home, 'node_modules/@portkey-ai/gateway/build/start-server.js'),
    `--port=${port}`,
    '--headless',
  ];
  const env = { TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost', NODE_ENV: 'production' };
  const started = await start({
    command: process.execPath,
    args,
    env,
    cwd: home,
    origin,
    health: '/',
    log: join(folder, 'portkey.log'),
  });
  // The vendor tells streams by `accept`, which is forwarded only when asked for.
  const headers = {
    authorization: `Bearer ${vendorKey}`,
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${vendor}/v1`,
    'x-portkey-forward-headers': 'accept',
  };
  return { name: 'portkey', origin, headers, pid: started.pid, startups: [started.startup] };
}

/** LiteLLM's proxy, without a database, in one worker. */
export async function startLiteLlm({ vendor, folder }: Place): Promise<Target> {
  const home = join(folder, 'litellm');
  await run('python3', ['-m', 'venv', home]);
  await run(join(home, 'bin/pip'), ['install', '--quiet', 'litellm[proxy]']);
  const [model, streamedModel] = ['openai/gpt-4o-mini', 'openai/streamed'];
  const served = { model: 'openai/gpt-4o-mini', api_base: `${vendor}/v1`, api_key: vendorKey };
  // The vendor tells streams by `accept`, which OpenAI's SDK never asks for.
  const accepted = { extra_headers: { accept: 'text/event-stream' } };
  const config = {
    model_list: [
      { model_name: model, litellm_params: served },
      { model_name: streamedModel, litellm_params: { ...served, ...accepted } },
    ],
    general_settings: { master_key: 'sk-litellm' },
  };
  const file = join(home, 'config.json');
  writeFileSync(file, JSON.stringify(config));
  const port = await findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const args = ['--config', file, '--host', '127.0.0.1', '--port', String(port)];
  const started = await start({
    command: join(home, 'bin/litellm'),
    args,
    // It would fetch its prices from GitHub.
    env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_LOG: 'ERROR' },
    cwd: home,
    origin,
    health: '/health/liveliness',
    log: join(folder, 'litellm.log'),
  });
  return {
    name: 'litellm',
    origin,
    headers: { authorization: 'Bearer sk-litellm' },
    pid: started.pid,
    startups: [started.startup],
    streamedModel,
  };
}
